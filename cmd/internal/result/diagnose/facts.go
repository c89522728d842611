package diagnose

import (
	"errors"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Fact was read, or Err says why it could not be.
type Fact[T any] struct {
	Value T
	Err   error
}

func (f Fact[T]) get() (T, error) { return f.Value, f.Err }

func fact[T any](v T, err error) Fact[T] { return Fact[T]{v, err} }

// BeforeAfter is what was read twice, at the ends of the time that was watched.
type BeforeAfter[T any] struct{ Before, After T }

var errNotWatched = errors.New("nothing was watched: give --duration a time")

// Facts are what the rules look at. They are read once, by ReadFacts.
type Facts struct {
	PageBytes int
	Watched   time.Duration // between two looks; 0: only one was taken

	Release    Fact[procmem.Release]
	THP        Fact[procmem.THP]
	Meminfo    Fact[procmem.Meminfo]
	Pools      Fact[[]procmem.HugetlbPool]
	Free       Fact[procmem.FreeBlocks]
	Swappiness Fact[int64]
	Vmstat     Fact[BeforeAfter[procmem.Vmstat]]
	Pressure   Fact[BeforeAfter[procmem.Pressure]]
	// Groups are the memory cgroups of the process, or of folio itself, the
	// innermost first.
	Groups Fact[[]Group]
	// Others are further Go runtimes under the memory limit in effect.
	Others []memlimit.Runtime

	Process *Process // nil: none was named
}

// Group is a memory cgroup.
type Group struct {
	Dir string
	procmem.GroupMemory
	group procmem.MemoryGroup
}

// Process are the facts about the process that was named.
type Process struct {
	PID     int
	Comm    string
	Command []string
	Denied  string // why folio may not look into it, where it may not
	// Collapse is the command that puts its memory on huge pages; "" where this user cannot.
	Collapse string
	NoTrace  error // of a Go program: why folio exec cannot change programs here; nil where it can

	Status    Fact[procmem.Status]
	Rollup    Fact[procmem.SmapsRollup]
	Advice    Fact[Advice]
	MaxMaps   Fact[int64] // vm.max_map_count
	Environ   Fact[[]string]
	Children  Fact[[]int] // those that run under the same name
	GoVersion Fact[string]
	NotGo     string // without a version: what the program is
	Runtime   Fact[Runtime]
	Pending   Fact[BeforeAfter[goruntime.Pending]] // finalizers and cleanups
	Samples   Fact[Samples]
	Memory    Fact[Memory]
	Charge    Fact[*charge.Charge] // of its container; nil if that is not counted
}

// Runtime is what a Go runtime said while it was watched.
type Runtime struct {
	BeforeAfter[goruntime.State]
	// Live is the least that a GC cycle found alive, nil if that is not known.
	// What is allocated during a GC cycle counts as alive in that one, so a
	// single look can find several times what lives.
	Live *uint64
}

// see takes one more look.
func (r *Runtime) see(s goruntime.State) {
	r.After = s
	if s.Marked != nil && (r.Live == nil || *s.Marked < *r.Live) {
		r.Live = s.Marked
	}
}

// Advice is what a process asked of transparent huge pages by madvise, with
// what it has of them: sums over its mappings, in bytes.
type Advice struct {
	Mappings           int
	Huge, NoHuge, None Extent
}

// Extent is how much anonymous memory some mappings have.
type Extent struct {
	Anonymous uint64
	OnHuge    uint64 // of Anonymous
}

func newAdvice(mappings []procmem.Mapping, err error) Fact[Advice] {
	a := Advice{Mappings: len(mappings)}
	for _, m := range mappings {
		to := &a.None
		switch {
		case m.AdviseHuge:
			to = &a.Huge
		case m.AdviseNoHuge:
			to = &a.NoHuge
		}
		to.Anonymous += m.Anonymous
		to.OnHuge += min(m.Huge, m.Anonymous) // huge pages of files are counted with them
	}
	return fact(a, err)
}

// Samples are where the time of a process went while it was watched.
type Samples struct {
	CPU    float64 // seconds
	Result *profile.Result
}

// rate returns how often a second these counters of the kernel went up, all
// together. Those that the kernel lacks do not count, but one must be there.
func (f *Facts) rate(names ...string) (float64, error) {
	v, err := f.Vmstat.get()
	if err != nil {
		return 0, err
	}
	if f.Watched <= 0 {
		return 0, errNotWatched
	}
	var sum uint64
	seen := false
	for _, name := range names {
		before, ok1 := v.Before[name]
		after, ok2 := v.After[name]
		if ok1 && ok2 && after >= before {
			sum, seen = sum+after-before, true
		}
	}
	if !seen {
		return 0, errors.New("this kernel does not count it in /proc/vmstat")
	}
	return float64(sum) / f.Watched.Seconds(), nil
}

// limit returns the memory limit in effect, false if there is none.
func (f *Facts) limit() (l procmem.Limit, ok bool, err error) {
	groups, err := f.Groups.get()
	if err != nil {
		return l, false, err
	}
	levels := make([]procmem.GroupMemory, len(groups))
	for i, g := range groups {
		levels[i] = g.GroupMemory
	}
	i, bytes, hidden := procmem.LimitInEffect(levels, f.Meminfo.Value.MemTotal)
	if i < 0 {
		return l, false, nil
	}
	return procmem.Limit{Bytes: bytes, Dir: groups[i].Dir, Hidden: hidden, Memory: groups[i].GroupMemory, Group: groups[i].group}, true, nil
}

// fit is how the process fits into its container, or into another limit of it. Without a process
// whose runtime can be read there is none.
func (f *Facts) fit(l procmem.Limit) (memlimit.Fit, bool) {
	p := f.Process
	if p == nil {
		return memlimit.Fit{}, false
	}
	own, outside := p.Memory.Value.Runtime, p.Memory.Value.Outside
	if p.Memory.Err != nil || own.Resident == 0 {
		r, err := p.Runtime.get()
		if err != nil || p.Status.Value.RssAnon == nil {
			return memlimit.Fit{}, false
		}
		anon := *p.Status.Value.RssAnon
		own = memlimit.OfState(p.PID, p.Comm, r.After, anon)
		outside = anon - own.Resident
	}
	return memlimit.NewContainer(l).Fit(own, outside, f.Others...), true
}

// window returns the size of a huge page, 0 without THP.
func (f *Facts) window() uint64 {
	if h := f.THP.Value.HugePageBytes; h != nil {
		return *h
	}
	return 0
}

// env returns a variable of the environment that the process was started with.
func (p *Process) env(key string) (value string, set bool, err error) {
	all, err := p.Environ.get()
	if err != nil {
		return "", false, err
	}
	for _, pair := range all {
		if len(pair) > len(key) && pair[:len(key)] == key && pair[len(key)] == '=' {
			return pair[len(key)+1:], true, nil // the first counts, as in the runtime
		}
	}
	return "", false, nil
}
