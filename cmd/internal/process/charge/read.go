package charge

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Source is where a charge is read from.
type Source struct {
	FS    procmem.FS
	Group Group
	// Of [Source.Read] alone: [Source.Quick] and [Source.Of] need none.

	// Process divides the memory of a process; nil: none is divided.
	Process func(pid int) (*inspect.Process, error)
	// Pages says what of a process is in memory. Default: its page tables.
	Pages func(pid int) (Pages, error)
	// Holds says what a file system, or a file, has in memory. Default: statfs, stat.
	Holds Holds
	// Now is the time. Default: time.Now.
	Now func() time.Time
}

// New returns a source that reads a cgroup of the running system.
func New(sys *inspect.System, g Group) *Source {
	s := Whole(sys.FS, g)
	s.Process = func(pid int) (*inspect.Process, error) {
		return sys.Process(pid, inspect.Options{Waterfall: true, Brief: true, Once: true})
	}
	return s
}

// Whole returns a source that divides no process: a reading takes a millisecond for some ten of
// them, and their page tables are looked at for shared memory alone.
func Whole(f procmem.FS, g Group) *Source {
	return &Source{FS: f, Group: g, Holds: system{}, Pages: openPages}
}

// ReadNamed reads the charge of a cgroup that is named as in [Find].
func ReadNamed(sys *inspect.System, name string) (*Charge, error) {
	g, err := Find(sys.FS, name)
	if err != nil {
		return nil, err
	}
	return New(sys, g).Read()
}

// Quick reads what the kernel counts, and no process: it takes microseconds.
func (s *Source) Quick() (*Charge, error) {
	c, err := s.Group.Charge()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Group.Dir, err)
	}
	return s.Of(c), nil
}

// Of divides what the kernel counted, reads nothing more, and knows neither the limit nor
// whether there is swap.
func (s *Source) Of(c procmem.GroupCharge) *Charge {
	r := s.begin()
	r.before, r.after, r.quick = c, c, true
	r.divide()
	return r.Charge
}

// Read reads the parts of the charge.
func (s *Source) Read() (*Charge, error) {
	r := s.begin()
	var err error
	if r.before, err = s.Group.Charge(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Group.Dir, err)
	}
	for _, pid := range s.Group.Processes() {
		r.process(pid)
	}
	slices.SortStableFunc(r.Processes, func(a, b Process) int { return cmp.Compare(b.RSS, a.RSS) })
	r.readShared()
	if r.after, err = s.Group.Charge(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Group.Dir, err)
	}
	r.Moved = int64(r.after.Usage) - int64(r.before.Usage)
	r.divide()
	r.Took = s.Now().Sub(r.At)
	return r.Charge, nil
}

// A reading is a charge that is being read.
type reading struct {
	*Source
	*Charge
	before, after procmem.GroupCharge
	quick         bool // no process is read

	kinds      [waterfall.Kinds]uint64 // of processes that are divided
	undivided  uint64                  // anonymous memory of the others
	files      uint64                  // in the RSS of processes, each by itself
	rings      uint64
	sharedRSS  uint64
	pageTables uint64
	threads    uint64
	shared     shared
}

func (s *Source) begin() *reading {
	if s.Now == nil {
		s.Now = time.Now
	}
	return &reading{Source: s, Charge: &Charge{Dir: s.FS.GroupDir(s.Group.MemoryGroup), Unified: s.Group.Unified, At: s.Now()}}
}

// process reads a process. One that has ended, and a thread of the kernel, has nothing.
func (r *reading) process(pid int) {
	status, err := r.FS.Status(pid)
	if err != nil || status.VmRSS == nil {
		return
	}
	p := Process{PID: pid, UID: status.UID, RSS: *status.VmRSS, Anonymous: status.RssAnon, File: status.RssFile, Shared: status.RssShmem}
	if st, err := r.FS.Stat(pid); err == nil {
		p.Name = st.Comm
	}
	p.Command, _ = r.FS.Cmdline(pid) // Name is left
	switch {
	case r.Process == nil:
	case pid == os.Getpid():
		p.Why = "this is the folio that reads"
	default:
		seen, err := r.Process(pid)
		switch {
		case errors.Is(err, procmem.ErrNoProcess) || errors.Is(err, procmem.ErrEnding):
			return
		case err != nil:
			p.Why = err.Error()
		case seen.Waterfall == nil:
			p.Why = "its parts are not known"
			if n := len(seen.Notes); n > 0 {
				p.Why = seen.Notes[n-1]
			}
		default:
			p.Waterfall, p.IsGo, p.GoVersion, p.Module = seen.Waterfall, seen.IsGo, seen.GoVersion, seen.Module
			if n := len(seen.Notes); n > 0 && seen.Waterfall.GC == nil {
				p.Why = seen.Notes[n-1]
			}
		}
	}
	r.add(p)
	if status.VmPTE != nil {
		r.pageTables += *status.VmPTE
	}
	if status.Threads != nil {
		r.threads += uint64(*status.Threads)
	}
}

// add adds up what a process has.
func (r *reading) add(p Process) {
	r.Processes = append(r.Processes, p)
	file, rings := value(p.File), uint64(0)
	if w := p.Waterfall; w != nil {
		for _, k := range anonymous {
			r.kinds[k] += uint64(max(w.Part(k).Bytes, 0))
		}
		rings = uint64(max(w.Part(waterfall.Uncharged).Bytes, 0))
	} else if p.Anonymous != nil {
		r.undivided += *p.Anonymous
	} else {
		r.undivided += p.RSS
	}
	r.rings += rings
	r.files += file - min(file, rings) // the kernel counts rings as files
	r.sharedRSS += value(p.Shared)
}

func value(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

// less is a-b, 0 where b is more.
func less(a, b uint64) uint64 { return a - min(a, b) }

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// part adds a part that has something.
func (r *reading) part(k Kind, bytes uint64, how waterfall.How, of ...waterfall.Share) {
	if bytes > 0 {
		r.Parts = append(r.Parts, Part{Kind: k, Bytes: bytes, How: how, Of: of})
	}
}

func (r *reading) apart(k Kind, bytes uint64) {
	const least = 64 << 10 // a few pages that the kernel maps into each process, and rounding
	if bytes >= least {
		r.Apart = append(r.Apart, Apart{k, bytes})
	}
}

// divide makes the parts.
func (r *reading) divide() {
	c := &r.after
	// Processes were read between the two.
	if a, b := r.before.Anonymous, r.after.Anonymous; a != nil && b != nil && distance(*a, r.anonymous()) < distance(*b, r.anonymous()) {
		c = &r.before
	}
	if r.Group.root() {
		root := *c
		root.Kernel, root.ActiveAnon = nil, nil // neither that nor what is not mapped is part of it
		c = &root
		r.Notes = append(r.Notes, "the charge of the root of version 1 has neither kernel memory nor what is left of huge pages that were released in part")
	}
	r.Usage = c.Usage
	swaps := false
	if !r.quick {
		r.Limit, swaps = r.Group.limit(r.FS), r.Group.swaps(r.FS)
	}
	r.apart(ApartRings, r.rings)
	r.divideAnonymous(c)
	r.divideUnmapped(c)
	r.divideShared(c)
	r.divideCache(c)
	r.divideKernel(c)
	for i := range r.Parts {
		r.Parts[i].Back = r.Parts[i].Kind.Back(swaps)
	}
	sum := r.Sum()
	r.Unexplained, r.Excess = less(r.Usage, sum), less(sum, r.Usage)
	const batch = 64 // pages
	r.Reserve = min(r.Unexplained, uint64(batch*r.FS.PageSize()*runtime.NumCPU()))
	r.Dirty, r.Writeback, r.Mapped, r.Swap = c.Dirty, c.Writeback, c.Mapped, c.Swap
	if !r.Group.Unified {
		r.TCP = c.Sockets
	}
	if why := r.unread(); why != "" {
		r.Notes = append(r.Notes, why)
	}
	r.Advice = r.Advise()
}

// anonymous is what processes have.
func (r *reading) anonymous() (n uint64) {
	for _, b := range r.kinds {
		n += b
	}
	return n + r.undivided
}

// divideAnonymous divides anonymous memory by what processes have of it. Where they have more than
// is charged, nothing says which of their parts is: it stays one part.
func (r *reading) divideAnonymous(c *procmem.GroupCharge) {
	if c.Anonymous == nil {
		r.Notes = append(r.Notes, "the kernel does not say how much of the charge is anonymous memory")
		return
	}
	charged, has := *c.Anonymous, r.anonymous()
	if r.quick {
		r.part(OfProcesses, charged, waterfall.Read)
		return
	}
	tolerance := max(charged/50, 1<<20) + distance(r.before.Usage, r.after.Usage)
	if has > charged+tolerance {
		var of []waterfall.Share
		for _, k := range anonymous {
			if n := min(r.kinds[k], charged); n > 0 {
				of = append(of, waterfall.Share{Name: k.Title(), Bytes: n})
			}
		}
		r.part(OfProcesses, charged, waterfall.Read, of...)
		r.apart(ApartAnonymous, has-charged)
		return
	}
	for _, k := range anonymous {
		r.part(Kind(k.String()), r.kinds[k], waterfall.Read)
	}
	r.part(Undivided, r.undivided, waterfall.Read)
	r.part(Elsewhere, less(charged, has), waterfall.Computed)
}

// divideUnmapped divides what lists of pages have and no process maps.
func (r *reading) divideUnmapped(c *procmem.GroupCharge) {
	listed := c.Listed()
	if listed == nil || c.Anonymous == nil || c.Cache == nil {
		return
	}
	// A page in swap and in memory is in Cache, and in Anonymous if it is mapped.
	unmapped := less(*listed, *c.Anonymous+less(*c.Cache, value(c.SwapCached)))
	inSwap := min(unmapped, value(c.SwapCached))
	unmapped -= inSwap
	unsplit := unmapped
	if n, ok := r.FS.PartlyMapped(); ok && !r.quick { // a reading that is kept may be of a time before
		unsplit = min(unsplit, n)
	}
	r.part(Unsplit, unsplit, waterfall.Computed)
	r.part(Unmapped, unmapped-unsplit, waterfall.Remainder)
	r.part(SwapCache, inSwap, waterfall.Computed)
}

// divideShared tells shared memory that processes map from what none does.
func (r *reading) divideShared(c *procmem.GroupCharge) {
	if c.Shared == nil {
		return
	}
	mapped := min(*c.Shared, r.shared.mapped)
	r.part(SharedMapped, mapped, waterfall.Read)
	r.part(SharedUnmapped, *c.Shared-mapped, waterfall.Computed, r.shared.holders(*c.Shared-mapped)...)
	r.apart(ApartShared, less(r.sharedRSS, mapped))
}

// divideCache divides the page cache by how soon the kernel takes it back.
func (r *reading) divideCache(c *procmem.GroupCharge) {
	if c.Cache == nil {
		return
	}
	files := less(*c.Cache, value(c.Shared)+value(c.SwapCached))
	if c.ActiveFile == nil || c.InactiveFile == nil {
		r.part(CacheActive, files, waterfall.Read)
		return
	}
	// What MADV_FREE freed is with the files that are inactive.
	const few = 1 << 20
	lazy := min(less(*c.ActiveFile+*c.InactiveFile, files), *c.InactiveFile)
	if lazy >= few {
		r.LazyFree = lazy
	}
	inactive := min(*c.InactiveFile-lazy, files)
	active := min(*c.ActiveFile, files-inactive)
	r.part(CacheInactive, inactive, waterfall.Read)
	r.part(CacheActive, active, waterfall.Read)
	r.part(CacheLocked, files-inactive-active, waterfall.Remainder)
	if c.Mapped != nil && !r.quick {
		r.apart(ApartFiles, less(r.files, less(*c.Mapped, r.shared.mapped)))
	}
}

// divideKernel divides the kernel's own memory.
func (r *reading) divideKernel(c *procmem.GroupCharge) {
	left := value(c.Kernel)
	take := func(k Kind, bytes uint64, how waterfall.How) {
		bytes = min(bytes, left)
		left -= bytes
		r.part(k, bytes, how)
	}
	if r.Group.Unified {
		for _, p := range []struct {
			kind  Kind
			bytes *uint64
		}{{Reclaimable, c.Reclaimable}, {Unreclaimable, c.Unreclaimable}, {KernelStacks, c.Stacks}, {PageTables, c.PageTables},
			{PerCPU, c.PerCPU}, {Vmalloc, c.Vmalloc}, {Zswap, c.Zswap}} {
			take(p.kind, value(p.bytes), waterfall.Read)
		}
		r.part(Sockets, value(c.Sockets), waterfall.Read)
		r.part(Hugetlb, value(c.Hugetlb), waterfall.Read)
	} else {
		take(KernelStacks, r.threads*stackSize, waterfall.Computed)
		take(PageTables, r.pageTables, waterfall.Read)
	}
	take(KernelOther, left, waterfall.Remainder)
}

// stackSize is what a thread has in the kernel, on all systems of 64 bits that Folio knows.
const stackSize = 16 << 10

// unread says of how many processes the parts are not known; "" for none.
func (r *reading) unread() string {
	n, why := 0, ""
	for _, p := range r.Processes {
		if p.Why != "" && p.PID != os.Getpid() {
			n++
			why = cmp.Or(why, fmt.Sprintf("process %d: %s", p.PID, p.Why))
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s could not be read as a whole: %s", n, unit.Plural(len(r.Processes), "process"), why)
}
