// Package host tells what a result has to say about the machine it was measured
// on: two results compare only where these agree.
package host

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Info describes a machine, as far as memory and speed depend on it. What could
// not be found out is nil or "", in JSON null or "".
type Info struct {
	Name   string `json:"name" redact:"drop"` // as the system calls itself; "" if unknown
	OS     string `json:"os" redact:"keep"`   // as GOOS
	Arch   string `json:"arch" redact:"keep"` // as GOARCH
	Kernel string `json:"kernel" redact:"kernel"`
	CPU    string `json:"cpu" redact:"keep"` // model of the first processor
	CPUs   int    `json:"cpus"`              // those that this process may run on

	MemoryBytes      *uint64 `json:"memory_bytes"`       // of the machine
	CgroupLimitBytes *uint64 `json:"cgroup_limit_bytes"` // null also when there is no limit

	PageBytes     int     `json:"page_bytes"`
	HugePageBytes *uint64 `json:"huge_page_bytes"` // null without THP

	// The policy for transparent huge pages; null without THP.
	THPEnabled     *string `json:"thp_enabled" redact:"keep"`
	THPDefrag      *string `json:"thp_defrag" redact:"keep"`
	THPMaxPtesNone *int    `json:"thp_max_ptes_none"`
}

// Read describes the machine that fs shows. The notes say what could not be
// read; the rest is valid.
func Read(fs procmem.FS) (_ Info, notes []string) {
	info := Info{
		OS:        runtime.GOOS,
		Arch:      runtime.GOARCH,
		CPUs:      runtime.NumCPU(),
		PageBytes: fs.PageSize(),
	}
	info.Name, _ = os.Hostname() // who looks at a result may know it by that
	note := func(what string, err error) {
		if err != nil {
			notes = append(notes, fmt.Sprintf("read %s: %v", what, err))
		}
	}
	var err error
	info.Kernel, err = kernel()
	note("kernel version", err)
	info.CPU, err = fs.CPUModel()
	note("processor model", err)

	mem, err := fs.Meminfo()
	note("memory size", err)
	info.MemoryBytes = mem.MemTotal

	limit, ok, err := fs.MemoryLimit(0)
	note("cgroup memory limit", err)
	if ok {
		info.CgroupLimitBytes = &limit.Bytes
	}

	thp, err := fs.THP()
	note("huge page policy", err)
	info.HugePageBytes = thp.HugePageBytes
	info.THPEnabled = known(thp.Enabled.Selected)
	info.THPDefrag = known(thp.Defrag.Selected)
	info.THPMaxPtesNone = thp.MaxPtesNone
	return info, notes
}

func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Program returns what a Go executable says about itself: the version of Go that
// built it and its main module. A path without a slash is searched in PATH. ok
// is false if there is no such executable, or it is not Go of a known version. modulePath is ""
// for a program that was built outside a module.
func Program(path string) (goVersion, modulePath string, ok bool) {
	file, err := exec.LookPath(path)
	if err != nil {
		return "", "", false
	}
	build, err := goruntime.ReadBuild(file)
	if err != nil {
		return "", "", false
	}
	return build.GoVersion, build.Module, true
}
