package procmem

import "strings"

// GroupDir names the directory of a memory cgroup, as the system that f shows
// knows it.
func (f FS) GroupDir(g MemoryGroup) string { return strings.TrimPrefix(g.dir, f.root) }

// Path returns a file of the system by its name from the root on, as this process opens it.
func (f FS) Path(name string) string { return f.path(strings.TrimPrefix(name, "/")) }
