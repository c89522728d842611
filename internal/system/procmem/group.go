package procmem

import (
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
func (g MemoryGroup) Processes() (pids []int) {
	_ = filepath.WalkDir(g.dir, func(dir string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // gone meanwhile
		}
		file := filepath.Join(dir, "cgroup.procs")
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			return nil // not a cgroup: reading it may wait
		}
		data, err := readFile(file)
		if err != nil {
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
	return slices.Compact(pids)
}
