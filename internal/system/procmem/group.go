package procmem

import "strings"

// GroupDir names the directory of a memory cgroup, as the system that f shows
// knows it.
func (f FS) GroupDir(g MemoryGroup) string { return strings.TrimPrefix(g.dir, f.root) }
