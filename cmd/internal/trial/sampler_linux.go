package trial

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
)

// A sampler watches a process tree while it runs: the memory that its processes
// hold together, the largest process, and the part that is on huge pages. The
// kernel keeps none of these peaks but that of a process. It costs at most one part
// in a hundred of one processor, by looking less often at trees that are slow to
// look at.
type sampler struct {
	tree    *procmem.Tree
	max     uint64        // bound on the tree's memory; 0 for none
	floor   uint64        // where the kernel's peaks begin: see peakRSS
	over    chan struct{} // closed when the bound was passed
	alarm   *alarm        // rung: end
	done    chan struct{}
	overOne sync.Once
	root    int

	trees, largest peaks
	several        bool       // more than one process was seen
	walk           sync.Mutex // held for a walk of page tables; guards these:
	peakHuge       uint64
	hugeSeen       bool
	walkCost       time.Duration // of the last one
	sparing        atomic.Bool   // see spare
	series         *Series       // nil: not to be kept
	witness        *witness      // nil: nothing else looks
	runtimes       *runtimes     // nil: they are told of processes, or not read
	reader         *peakReader   // nil: the parts of the memory are not asked for
	charged        *chargeReader // nil: its memory has no limit
}

const (
	firstLook = time.Millisecond
	// minLook and maxLook bound the time between two looks. The peak of a single
	// process is in the kernel's accounts, so one alone is looked at less often.
	minLook  = 4 * beat
	soleLook = 8 * beat
	maxLook  = 16 * beat
	// share is the reciprocal of the part of a processor that looking may take.
	share = 100
	// hugeShare is that of reading smaps_rollup, which walks the page tables of
	// the program under its memory lock.
	hugeShare   = 200
	minHugeLook = 200 * time.Millisecond
	// briefWalk is how long a walk may take while the generator is spared.
	briefWalk = 200 * time.Microsecond
)

// newSampler starts a process with start and returns its sampler. Orphans whose
// parents ended before they were seen become children of this process; with
// orphans set they count, too, as all its children but the foreign ones do.
func newSampler(fs procmem.FS, bound uint64, orphans bool, foreign []int, start func() (int, error)) (*sampler, error) {
	s := &sampler{max: bound, over: make(chan struct{}), done: make(chan struct{})}
	var err error
	if s.alarm, err = newAlarm(); err != nil {
		return nil, err
	}
	reaper := 0
	if orphans {
		reaper = os.Getpid()
	}
	s.tree, err = fs.NewTreeOf(reaper, func() (pid int, err error) {
		s.root, err = start()
		return s.root, err
	})
	if err != nil {
		s.alarm.close()
		return nil, err
	}
	for _, pid := range foreign {
		s.tree.Exclude(pid)
	}
	return s, nil
}

func (s *sampler) run() {
	defer close(s.done)
	defer s.tree.Close()
	wait, nextHuge := firstLook, time.Now().Add(2*firstLook)
	for {
		s.alarm.wait(untilTick(wait))
		if s.alarm.rung.Load() {
			return
		}
		start := time.Now()
		often := minLook
		if s.look() == 1 {
			often = soleLook
		}
		cost := time.Since(start)
		if now := time.Now(); now.After(nextHuge) {
			s.lookHuge(false)
			nextHuge = now.Add(max(minHugeLook, hugeShare*time.Since(now)))
		}
		// Short programs are looked at early and often: 1, 2, 4, 8 ms...
		wait = max(min(2*wait, often), min(share*cost, maxLook))
	}
}

// look takes one look and returns how many processes it saw.
func (s *sampler) look() int {
	_ = s.tree.Update() // a look that fails leaves the peaks as they are
	if s.witness != nil {
		s.witness.look(s.tree.PIDs())
	}
	if s.runtimes != nil {
		s.runtimes.look(s.tree.PIDs())
	}
	if s.charged != nil {
		s.charged.look()
	}
	total, largest, n := s.tree.RSS()
	if n > 0 {
		s.trees.add(total)
		if s.series != nil {
			s.series.looked(&s.series.RSS, total)
		}
		if s.floor > 0 && largest < 2*s.floor {
			if hwm, ok := s.tree.HWM(s.root); ok {
				largest = max(largest, hwm)
			}
		}
		s.largest.add(largest)
		if s.reader != nil && !s.sparing.Load() {
			s.reader.saw(s.tree.Largest(), largest)
		}
	}
	s.several = s.several || n > 1
	if s.max > 0 && total > s.max {
		s.overOne.Do(func() { close(s.over) })
	}
	return n
}

// lookHuge looks at the huge pages, which takes 20 ms per GiB of small pages, unless the
// generator is spared that and it is not due in any case.
func (s *sampler) lookHuge(due bool) {
	s.walk.Lock()
	defer s.walk.Unlock()
	if !due && s.sparing.Load() && s.walkCost > briefWalk {
		return
	}
	begin := time.Now()
	defer func() { s.walkCost = time.Since(begin) }()
	if bytes, ok := s.tree.AnonHuge(); ok {
		s.peakHuge, s.hugeSeen = max(s.peakHuge, bytes), true
		if s.series != nil {
			s.series.looked(&s.series.Huge, bytes)
		}
	}
}

// spare keeps the sampler from what takes long while the load generator sends requests: the
// kernel walks the page tables of a process without letting go of the CPU, on which requests
// are to start meanwhile. The sampler looks at once when spared is called.
func (s *sampler) spare() (spared func()) {
	s.sparing.Store(true)
	return func() {
		s.lookHuge(true)
		if s.reader != nil {
			s.reader.now(s.tree.Largest())
		}
		s.sparing.Store(false)
	}
}

// end stops the watch; the peaks may be read after it.
func (s *sampler) end() {
	s.alarm.ring()
	<-s.done
	s.alarm.close()
}

// peakRSS returns the peak of the largest process: what the kernel says, or what was
// seen where that cannot be it. The kernel starts its count at the memory of the
// process that forked. That is next to nothing with the stub; without it no child of
// folio ever seems smaller than folio was (floor).
func (s *sampler) peakRSS(maxrss uint64) (*uint64, Source) {
	seen, looks := s.largest.most(0)
	if s.floor > 0 && maxrss <= s.floor+s.floor/50+slack {
		if looks < trustedLooks {
			return nil, ""
		}
		return &seen, Sampled
	}
	if seen > maxrss+maxrss/20+slack { // a child that no one waited for: SIGCHLD was ignored
		return &seen, Sampled
	}
	return &maxrss, Kernel
}

// slack is how far two looks of the kernel at the same peak differ at least: it
// counts the pages of each processor for itself and adds up now and then.
const slack = 1 << 20

// ownHWM returns the high-water mark of folio itself.
func ownHWM(fs procmem.FS) uint64 {
	st, err := fs.Status(os.Getpid())
	if err != nil || st.VmHWM == nil {
		return 0
	}
	return *st.VmHWM
}
