package goheap

import (
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/base/ballast"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/system/sys"
)

// locked reports whether the process locks memory that it maps (MCL_FUTURE): then a
// reserve would be in memory at once.
func locked() bool {
	n := uintptr(page.Size())
	p, err := sys.Mmap(n, 0)
	if err != nil {
		return false
	}
	defer func() { _ = sys.Munmap(uintptr(p), n) }()
	res, err := page.OfPointer(p, n).Residency(nil)
	return err == nil && res.Resident > 0 // nobody wrote to it
}

// heedLock releases the reserve if the program locked its memory after it was made: the
// kernel has put all of it in memory then.
func (a *Advisor) heedLock() {
	if a.stats.Reserved.Len() == 0 {
		return
	}
	st, err := a.fs.Status(0)
	if err != nil || st.VmLck == nil || *st.VmLck == a.lockedSum {
		return
	}
	a.lockedSum, a.lockedAll = *st.VmLck, locked()
	res, err := a.stats.Reserved.Residency(nil)
	if err != nil {
		a.failed(err)
		return
	}
	inVain := sub(res.Resident, readHeap().committed())
	// A program may lock memory of its own, which is no matter here.
	if !a.lockedAll {
		if inVain < minRelease {
			if *st.VmLck >= uint64(a.stats.Reserved.Len()) {
				a.lockedSum = 0 // mlockall may be at it: the next look tells
			}
			return
		}
		if lo, err := lastLocked(a.fs, a.stats.Reserved); !lo {
			if err != nil {
				a.failed(err)
			}
			return
		}
	}
	if err := a.dropReserve(); err != nil {
		a.warn(fmt.Errorf("reserve: the program locks its memory (mlockall), %d MiB that the heap does not use are in memory, and cannot be released: %w: leave the reserve out", inVain>>20, err))
		return
	}
	what := fmt.Sprintf("%d MiB that the heap did not use were in memory", inVain>>20)
	if inVain < minRelease {
		what = "all of it would be in memory"
	}
	a.warn(fmt.Errorf("reserve: released: the program locks its memory (mlockall), %s: leave the reserve out", what))
}

// lastLocked reports whether the end of r is locked.
func lastLocked(fs procmem.FS, r page.Range) (bool, error) {
	mappings, err := fs.Mappings(0)
	for _, m := range mappings {
		if m.Start < uint64(r.End) && uint64(r.End) <= m.End {
			return m.IsLocked, err
		}
	}
	return false, err
}

// dropReserve has the runtime release what it does not use of the reserve, which is
// locked from the first touch on, like what the heap grows into without a reserve.
//
// The runtime cannot discard locked memory (madvise is EINVAL), so it maps it anew, which
// puts it in memory again where what is mapped is locked. Therefore that is locked from
// the first touch on (MCL_ONFAULT), too, while this is done.
func (a *Advisor) dropReserve() error {
	const atMost = time.Second
	r := a.stats.Reserved
	a.stats.Reserved, a.stats.Advised = page.Range{}, page.Range{}
	if a.adaptive != nil {
		a.adaptive.over = true
	}
	// After MCL_FUTURE alone the reserve is not locked yet.
	if _, _, e := unix.Syscall(unix.SYS_MLOCK2, r.Start, r.Len(), unix.MLOCK_ONFAULT); e != 0 {
		return fmt.Errorf("mlock2: %w", e)
	}
	if a.lockedAll {
		if err := unix.Mlockall(unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
			return fmt.Errorf("mlockall: %w", err)
		}
	}
	ballast.Drop(func() uint64 {
		n := takeReleased(math.MaxUint64, time.Now().Add(atMost))
		debug.FreeOSMemory()
		return n
	})
	if a.lockedAll {
		if err := unix.Mlockall(unix.MCL_FUTURE); err != nil {
			return fmt.Errorf("mlockall: %w", err)
		}
	}
	return nil
}
