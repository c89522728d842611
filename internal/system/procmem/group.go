package procmem

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// GroupDir names the directory of a memory cgroup, as the system that f shows
// knows it.
func (f FS) GroupDir(g MemoryGroup) string { return strings.TrimPrefix(g.dir, f.root) }

// Path returns a file of the system by its name from the root on, as this process opens it.
func (f FS) Path(name string) string { return f.path(strings.TrimPrefix(name, "/")) }

// Processes lists the processes of a memory cgroup and of those below it, by number. What may not
// be read is left out.
func (g MemoryGroup) Processes() []int {
	pids, _ := CgroupProcesses(g.dir)
	return pids
}

// CgroupProcesses lists the processes of a cgroup and of those below it, by number. The error is of
// what may not be read; what has gone meanwhile is left out.
func CgroupProcesses(dir string) (pids []int, err error) {
	_ = filepath.WalkDir(dir, func(dir string, d os.DirEntry, failed error) error {
		if failed == nil && !d.IsDir() {
			return nil
		}
		var data []byte
		if failed == nil {
			file := filepath.Join(dir, "cgroup.procs")
			if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
				return nil // not a cgroup: reading it may wait
			}
			data, failed = readFile(file)
		}
		if failed != nil {
			if !Gone(failed) {
				err = errors.Join(err, failed)
			}
			return nil
		}
		for field := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 { // 0 is of another PID namespace
				pids = append(pids, pid)
			}
		}
		return nil
	})
	slices.Sort(pids)
	return slices.Compact(pids), err
}
