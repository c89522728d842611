package waterfall

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
)

// sums are the parts while they are added up.
type sums struct {
	bytes [Kinds]int64
	names map[string]uint64 // of Named
}

func (s *sums) name(name string, bytes uint64) {
	s.bytes[Named] += int64(bytes)
	if s.names == nil {
		s.names = make(map[string]uint64)
	}
	s.names[name] += bytes
}

// Others is the share of the names that are not listed; those of mappings are in brackets.
const Others = "others"

// shares returns named memory, largest first, at most so many names; what the others have
// is one.
func (s *sums) shares() (out []Share) {
	const most = 20
	for name, bytes := range s.names {
		out = append(out, Share{name, bytes})
	}
	slices.SortFunc(out, func(a, b Share) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
	if len(out) > most {
		rest := Share{Name: Others}
		for _, o := range out[most:] {
			rest.Bytes += o.Bytes
		}
		out = append(out[:most], rest)
	}
	return out
}

// runtimeName begins the names that the runtime gives its mappings since Go 1.25, where the
// kernel keeps them.
const runtimeName = "[anon: Go: "

// kindOf says what a mapping is for that is not of the Go heap: of its pages of files,
// and of the anonymous ones.
func kindOf(all []procmem.Mapping, i, pageSize int) (file, anonymous Kind) {
	m := all[i]
	switch {
	case uncharged(m.VMA):
		return Uncharged, Uncharged
	case sharedMemory(m.VMA):
		return Shared, Shared
	case m.Inode != 0 || m.Shared:
		if m.Exec {
			return Text, Data
		}
		return Files, Data
	case strings.HasPrefix(m.Name, runtimeName):
		return Metadata, Metadata
	case m.Name == "[heap]":
		return Malloc, Malloc
	case m.StackName():
		return ThreadStacks, ThreadStacks
	case strings.HasPrefix(m.Name, "[anon:"):
		if strings.Contains(m.Name, "malloc") { // as jemalloc and scudo name theirs
			return Malloc, Malloc
		}
		return Named, Named
	case m.Name != "": // [vdso], [vvar]
		return Text, Text
	case bss(all, i):
		return Data, Data
	case m.Read && m.Write && i > 0 && procmem.Guards(all[i-1].VMA, m.VMA, pageSize):
		return ThreadStacks, ThreadStacks
	case arena(all, i):
		return Malloc, Malloc
	}
	return Other, Other
}

// uncharged reports whether a mapping is of pages that the kernel or a driver has, and lends
// to the process: rings of packet sockets and of perf, memory of devices. They are in RSS,
// and charged to no memory cgroup.
func uncharged(v procmem.VMA) bool {
	device := strings.HasPrefix(v.Name, "/dev/") && !strings.HasPrefix(v.Name, "/dev/shm/") && !strings.HasPrefix(v.Name, "/dev/zero") &&
		!strings.HasPrefix(v.Name, "/dev/hugepages/")
	return device || strings.HasPrefix(v.Name, "socket:[") || v.Name == "anon_inode:[perf_event]"
}

// sharedMemory reports whether a mapping is of memory that no disk has.
func sharedMemory(v procmem.VMA) bool {
	for _, prefix := range []string{"/dev/shm/", "/memfd:", "/SYSV", "/dev/zero", "[anon_shmem"} {
		if strings.HasPrefix(v.Name, prefix) {
			return true
		}
	}
	return v.Shared && v.Inode == 0
}

// bss reports whether a mapping is the rest of the variables of a program or a library:
// those that begin as zeros follow those that are in the file.
func bss(all []procmem.Mapping, i int) bool {
	if i == 0 || !all[i].Write {
		return false
	}
	before := all[i-1]
	return before.End == all[i].Start && before.Write && !before.Shared && before.Inode != 0 && strings.HasPrefix(before.Name, "/")
}

// arenaSize is HEAP_MAX_SIZE of glibc on 64-bit systems: its arenas are of this size, and
// begin at a multiple of it. What is not in use of one has no permissions.
const arenaSize = 64 << 20

// arena reports whether a mapping is the beginning of an arena of glibc's malloc.
func arena(all []procmem.Mapping, i int) bool {
	m := all[i]
	if m.Start%arenaSize != 0 || !m.Read || !m.Write || m.Exec || m.Len() > arenaSize {
		return false
	}
	if m.Len() == arenaSize {
		return false // nothing tells it from other memory
	}
	if i+1 == len(all) {
		return false
	}
	rest := all[i+1]
	return rest.Start == m.End && rest.End >= m.Start+arenaSize && !rest.Read && !rest.Write && !rest.Exec && rest.Name == "" && rest.Inode == 0
}

// allocators are those that name a library, without its version.
var allocators = []string{"libjemalloc", "libtcmalloc", "libmimalloc"}

// loaded returns the allocators of C that are mapped.
func loaded(all []procmem.Mapping) (out []string) {
	for _, m := range all {
		base := path.Base(m.Name)
		for _, a := range allocators {
			if strings.HasPrefix(base, a) && !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// overlaps returns which parts of a range lie in these, which are in order.
func overlaps(all []goruntime.Range, from, to uint64) (out []goruntime.Range) {
	i, _ := slices.BinarySearchFunc(all, from, func(r goruntime.Range, at uint64) int {
		if r.End <= at {
			return -1
		}
		return 1
	})
	for ; i < len(all) && all[i].Start < to; i++ {
		out = append(out, goruntime.Range{Start: max(all[i].Start, from), End: min(all[i].End, to)})
	}
	return out
}
