package goheap

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/foliomem/folio/internal/base/ballast"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
)

// bloated reports whether there is more bloat than there may be. Where all that is
// mapped is locked, what the runtime returns stays in memory.
func (a *Advisor) bloated() bool {
	return !a.lockedAll && !a.options.NoRelease && a.stats.Bloat > a.mostBloat()
}

// mostBloat is how much there may be. Nobody asked for an adaptive reserve: when the heap has
// become much smaller, it may cost a quarter as much: the runtime's tables for it are more.
func (a *Advisor) mostBloat() uint64 {
	most := a.options.MaxBloat * float64(a.stats.Committed)
	if ahead := uint64(a.stats.Advised.Len()); ahead > 4*a.stats.Committed {
		return max(uint64(most/4), uint64(page.WindowSize())/2)
	}
	return max(uint64(most), minRelease)
}

const (
	releaseTime   = 250 * time.Millisecond
	largestBlock  = 4 << 20  // as much as the runtime grows the heap by
	smallestBlock = 8 << 10  // a page of the runtime
	releasedLeft  = 64 << 10 // is as good as nothing
)

// releaseAgain returns memory to the OS that the runtime has released before and that
// khugepaged has re-populated. It reports whether it did anything.
//
// The runtime never releases a page twice: it must have been allocated in between. So
// all that is released is allocated, which makes it the runtime's to release
// again. Nobody writes to it meanwhile, so no memory is used that was not there.
func (a *Advisor) releaseAgain(now time.Time) bool {
	if a.releases.left(now) > 0 {
		a.stats.Waiting = "memory was released a short while ago"
		return false
	}
	a.stats.Waiting = ""
	if err := a.fenceUsed(); err != nil { // else the next fault there brings a whole window back
		a.failed(err)
	}
	before, bloat := a.stats.Resident, a.stats.Bloat
	h := readHeap()
	most := h.released
	if h.limit > 0 {
		// Beyond the limit, the GC would run all the time.
		most = min(most, sub(h.limit, h.total)/2)
	}
	if most < minRelease {
		a.stats.Waiting = "the memory limit leaves no room to release memory"
		a.releases.again(now)
		return false
	}
	if h := now.Sub(a.releases.until); h > a.releases.most/6 {
		a.releases.reset() // the last time was long ago
	}
	a.releases.again(now)
	ballast.Drop(func() uint64 {
		n := takeReleased(most, now.Add(releaseTime))
		debug.FreeOSMemory()
		return n
	})
	if err := a.survey(readHeap(), time.Now()); err != nil {
		a.failed(err)
		return true
	}
	saved := sub(before, a.stats.Resident)
	a.stats.Released += saved
	a.stats.Releases++
	a.info(fmt.Sprintf("released %s of the heap; %s were not in use", unit.Size(saved), unit.Size(bloat)))
	return true
}

// takeReleased allocates what the runtime has released, up to most bytes of it, drops
// it, and returns how much it allocated. First large blocks, then smaller ones: the runtime takes the first place
// that is large enough, and when it grows the heap instead, there is none left.
func takeReleased(most uint64, deadline time.Time) (taken uint64) {
	first := readHeap()
	least := sub(first.released, most)
	// What is free is taken as well, and other goroutines come in between.
	room := first.released + first.free + 16*largestBlock
	var blocks []*strings.Builder
	const every = 8
	for n := largestBlock; n >= smallestBlock; n /= 2 {
		mapped := readHeap().mapped
		for i := 1; room >= uint64(n); i++ {
			blocks = append(blocks, block(n))
			room -= uint64(n)
			taken += uint64(n)
			if i%every != 0 {
				continue
			}
			h := readHeap()
			if h.released <= max(least, releasedLeft) || !time.Now().Before(deadline) {
				runtime.KeepAlive(blocks)
				return taken
			}
			if h.mapped > mapped {
				break
			}
		}
	}
	runtime.KeepAlive(blocks) // none may be used again before all are taken
	return taken
}
