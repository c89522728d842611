package lab

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Machine is what the arms depend on.
type Machine struct {
	Root      string // of the kernel's files; "" is the real one
	BasePage  int    // bytes
	HugePage  int    // bytes of a PMD-sized huge page, 0 without THP
	THPSizes  []int  // that the kernel offers, HugePage among them
	PoolSizes []int  // of hugetlb pages
	CPUs      int
	Spare     uint64 // bytes that an experiment may take
	// FreeWindows is how many windows the memory makes that is available, be it
	// whole or in pieces.
	FreeWindows int
}

// ReadMachine looks at this machine.
func ReadMachine() *Machine {
	m := &Machine{BasePage: page.Size(), HugePage: page.HugeSize(), CPUs: runtime.NumCPU(), Spare: procmem.FS{}.SpareMemory()}
	if f, err := (procmem.FS{}).Meminfo(); err == nil {
		m.FreeWindows = int(value0(f.MemAvailable) / uint64(page.WindowSize()))
	}
	all, _ := page.PageSizes(page.THP)
	for _, size := range all {
		// Of some sizes there are pages for shared memory only.
		if _, err := os.Stat(m.thpFile(size)); err == nil || size == m.HugePage {
			m.THPSizes = append(m.THPSizes, size)
		}
	}
	m.PoolSizes, _ = page.PageSizes(page.HugeTLB)
	return m
}

// window is the size of a huge page, or what one would have.
func (m *Machine) window() int {
	if m.HugePage > 0 {
		return m.HugePage
	}
	return m.BasePage * (m.BasePage / 8)
}

// file returns the path of a kernel's file.
func (m *Machine) file(parts ...string) string {
	return filepath.Join(m.Root+"/", filepath.Join(parts...))
}

const (
	thpDir  = "sys/kernel/mm/transparent_hugepage/"
	poolDir = "sys/kernel/mm/hugepages/"
)

// thpFile is the policy file of one size of THP, kernel 6.8+.
func (m *Machine) thpFile(size int) string {
	return m.file(thpDir, fmt.Sprintf("hugepages-%dkB/enabled", size>>10))
}

// needTHP adds what an arm with THP of a size (0: PMD-sized) needs: that
// programs which ask get that size, and no other.
func (m *Machine) needTHP(a *Arm, size int) {
	if m.HugePage == 0 {
		a.NotRun, a.Missing = "the kernel has no transparent huge pages", true
		return
	}
	if size == 0 {
		size = m.HugePage
	}
	all, err := settings.Read(m.file(thpDir, "enabled"))
	if err != nil {
		a.NotRun, a.Missing = "the policy for huge pages cannot be read: "+err.Error(), true
		return
	}
	own, err := settings.Read(m.thpFile(size))
	switch {
	case err != nil && size != m.HugePage:
		a.NotRun, a.Missing = fmt.Sprintf("the kernel has no THP of %s", unit.Exact(uint64(size))), true
		return
	case err != nil || own == "inherit": // before 6.8 there is one policy only
		if all == "never" {
			a.Changes = append(a.Changes, settings.Change{Path: m.file(thpDir, "enabled"), Value: "madvise"})
		}
	case own == "never":
		a.Changes = append(a.Changes, settings.Change{Path: m.thpFile(size), Value: "madvise"})
	}
	if size == m.HugePage {
		return
	}
	for _, other := range m.THPSizes { // larger ones would be taken first
		policy, err := settings.Read(m.thpFile(other))
		if other != size && err == nil && policy != "never" {
			a.Changes = append(a.Changes, settings.Change{Path: m.thpFile(other), Value: "never"})
		}
	}
}

// needPool adds what an arm with bytes of hugetlb pages needs: that its pool has
// enough of them free.
func (m *Machine) needPool(a *Arm, size int, bytes uint64) {
	dir := m.file(poolDir, fmt.Sprintf("hugepages-%dkB", size>>10))
	count := func(name string) (uint64, error) {
		text, err := settings.Read(filepath.Join(dir, name))
		if err != nil {
			return 0, err
		}
		return strconv.ParseUint(text, 10, 63)
	}
	total, err1 := count("nr_hugepages")
	free, err2 := count("free_hugepages")
	reserved, err3 := count("resv_hugepages")
	if err := cmp.Or(err1, err2, err3); err != nil {
		a.NotRun, a.Missing = fmt.Sprintf("the pool of %s pages cannot be read: %v", unit.Exact(uint64(size)), err), true
		return
	}
	need := (bytes + uint64(size) - 1) / uint64(size)
	free -= min(free, reserved)
	if free >= need {
		return
	}
	if more := (need - free) * uint64(size); more > m.Spare {
		a.NotRun = fmt.Sprintf("its pool needs %s more, the machine can spare %s", unit.Exact(more), unit.Exact(m.Spare>>20<<20))
		return
	}
	a.Changes = append(a.Changes, settings.Change{Path: filepath.Join(dir, "nr_hugepages"), Value: strconv.FormatUint(total+need-free, 10), Pool: true})
}

// needCgroup has an arm run in a memory cgroup of its own, limited to bytes.
func (m *Machine) needCgroup(a *Arm, bytes uint64) {
	dir, limit, err := m.cgroup()
	if err != nil {
		a.NotRun = "no memory cgroup can be made: " + err.Error()
		return
	}
	a.Task.Cgroup = filepath.Join(dir, fmt.Sprintf("folio-lab-%d", os.Getpid()))
	a.Changes = append(a.Changes, settings.Change{Path: a.Task.Cgroup, Dir: true, Limit: limit, Value: strconv.FormatUint(bytes, 10)})
}

// cgroup returns the directory in which memory cgroups can be made, and the name
// of their file for the limit.
func (m *Machine) cgroup() (dir, limit string, err error) {
	data, err := os.ReadFile(m.file("proc/self/cgroup"))
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		if slices.Contains(strings.Split(f[1], ","), "memory") { // version 1
			for _, p := range []string{f[2], "/"} { // a container may see its own group as the root
				dir := m.file(path.Join("sys/fs/cgroup/memory", path.Clean("/"+p)))
				if _, err := os.Stat(filepath.Join(dir, "memory.limit_in_bytes")); err == nil {
					return dir, "memory.limit_in_bytes", nil
				}
			}
		}
		if f[0] == "0" && f[1] == "" { // version 2: a group with processes has no groups below it
			for _, p := range []string{f[2], path.Dir(f[2])} {
				dir := m.file(path.Join("sys/fs/cgroup", path.Clean("/"+p)))
				own, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
				if err == nil && slices.Contains(strings.Fields(string(own)), "memory") {
					return dir, "memory.max", nil
				}
			}
		}
	}
	return "", "", errors.New("this process is in none that the memory controller may be used below")
}

// floorPower returns the largest power of two that is not more than n.
func floorPower(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return 1 << (bits.Len64(n) - 1)
}

// sizes are 1 MiB, 2 MiB and so on up to most, and most itself.
func sizes(most uint64) []uint64 {
	var out []uint64
	for n := uint64(1 << 20); n < most; n *= 2 {
		out = append(out, n)
	}
	return append(out, most)
}
