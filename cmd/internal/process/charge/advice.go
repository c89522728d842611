package charge

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
)

// An Advice is what is to be done about a part of the charge that no RSS shows.
type Advice struct {
	Kind  Kind
	Bytes uint64
	What  string
	Means string
	Do    string
	Code  string // "" for none
}

const (
	worthShare = 10 // a part is worth a word from this part of the charge on
	worthBytes = 8 << 20
)

// Worth is from how many bytes on a part of a charge is worth a word.
func Worth(charged uint64) uint64 { return max(charged/worthShare, worthBytes) }

// Advise finds what is to be done about the parts that no RSS shows, the largest first.
func (c *Charge) Advise() (out []Advice) {
	for _, p := range c.Parts {
		if p.Bytes < Worth(c.Usage) {
			continue
		}
		a := Advice{Kind: p.Kind, Bytes: p.Bytes}
		switch p.Kind {
		case SharedUnmapped:
			a.What = fmt.Sprintf("%s of tmpfs and shared memory are mapped by no process of the cgroup%s.", unit.Size(p.Bytes), held(p))
			a.Means = "No process has it in RSS, and it stays charged when processes end."
			if p.Back == No {
				a.Means += " Without swap the kernel cannot take it back."
			}
			a.Do = "Delete files of tmpfs (an emptyDir of medium Memory, /dev/shm), or limit the size of its mount (sizeLimit of an emptyDir). See which there are:"
			a.Code = "df -t tmpfs"
			if len(p.Of) > 0 && shellPath.MatchString(p.Of[0].Name) {
				a.Code = "du -a " + p.Of[0].Name
			}
		case Unsplit:
			a.What = fmt.Sprintf("%s are charged for parts of huge pages that were released.", unit.Size(p.Bytes))
			a.Means = "A huge page is charged as a whole until it is split. The kernel splits such pages when the cgroup runs short; until then its charge says more than is in use."
			a.Do = "Release whole huge pages (2 MiB on amd64), or advise memory that is released in small pieces against huge pages:"
			a.Code = "madvise(addr, length, MADV_NOHUGEPAGE)"
		case Elsewhere:
			a.What = fmt.Sprintf("%s of anonymous memory are mapped by no process of the cgroup.", unit.Size(p.Bytes))
			a.Means = "They belong to processes that left the cgroup after they had allocated: a charge stays where it was made."
			a.Do = "End these processes, or start them in the cgroup that is to be charged:"
			a.Code = "sh -c 'echo $$ > CGROUP/cgroup.procs; exec PROGRAM'"
		default:
			continue
		}
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(a, b Advice) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// held names what holds a part; "" where that is not known.
func held(p Part) string {
	const most = 3
	var names []string
	for _, o := range p.Of[:min(most, len(p.Of))] {
		names = append(names, fmt.Sprintf("%s %s", o.Name, unit.Size(o.Bytes)))
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}

// shellPath is a path that a shell takes as it is: others are in no command that is advised.
var shellPath = regexp.MustCompile(`^/[A-Za-z0-9_./@:-]*$`)

// A Sum is what a group of parts adds up to.
type Sum struct {
	Name  string // its key in metrics
	Title string
	Bytes uint64
}

// Sums adds up the parts in few groups, which are always the same: with less of Excess they are
// the charge.
func (c *Charge) Sums() []Sum {
	out := []Sum{{"anonymous", "anonymous memory", 0}, {"huge_pages_unsplit", "huge pages released in part", 0}, {"shared", "tmpfs and shared memory", 0},
		{"page_cache", "page cache", 0}, {"kernel", "kernel memory", 0}, {"unexplained", "not explained", c.Unexplained}}
	for _, p := range c.Parts {
		i := 0
		switch p.Kind {
		case Unsplit:
			i = 1
		case SharedMapped, SharedUnmapped:
			i = 2
		case CacheInactive, CacheActive, CacheLocked, SwapCache:
			i = 3
		case Reclaimable, Unreclaimable, KernelStacks, PageTables, Sockets, PerCPU, Vmalloc, Zswap, Hugetlb, KernelOther:
			i = 4
		}
		out[i].Bytes += p.Bytes
	}
	return out
}

// Brief says in a line what a cgroup is charged for, most first.
func (c *Charge) Brief() string {
	sums := c.Sums()
	slices.SortStableFunc(sums, func(a, b Sum) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var out []string
	for _, s := range sums {
		if s.Bytes >= c.Usage/100 && s.Bytes > 0 {
			out = append(out, s.Title+" "+unit.Size(s.Bytes))
		}
	}
	return strings.Join(out, ", ")
}
