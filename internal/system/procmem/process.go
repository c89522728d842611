package procmem

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/base/input"
)

// PIDs returns the processes that /proc shows, ascending.
func (f FS) PIDs() ([]int, error) {
	dir, err := os.Open(f.path("proc"))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil && len(names) == 0 {
		return nil, err
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// Cmdline returns the command line of a process, which it can change itself. It is
// empty for a kernel thread and a zombie, and of a very long one it is the beginning.
// Everybody may read it.
func (f FS) Cmdline(pid int) ([]string, error) {
	data, err := readMost(f.procPath(pid, "cmdline"), input.MaxArguments, nil)
	if data = bytes.TrimRight(data, "\x00"); err != nil || len(data) == 0 {
		return nil, err
	}
	return strings.Split(string(data), "\x00"), nil
}

// ExePath names the program of a process, as a file that can be opened even when it
// was deleted or replaced. A process of another user needs the right to ptrace it.
func (f FS) ExePath(pid int) string { return f.procPath(pid, "exe") }

// MapPath is the kernel's link to the file of a mapping, which is there even after the file
// was removed. To open it takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
func (f FS) MapPath(pid int, v VMA) string {
	return f.procPath(pid, fmt.Sprintf("map_files/%x-%x", v.Start, v.End))
}

// RootPath is a path as a process sees it, which may be in a container.
func (f FS) RootPath(pid int, path string) string { return f.procPath(pid, "root"+path) }
