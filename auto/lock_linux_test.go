package auto

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
	"github.com/foliomem/folio/page"
)

func init() {
	lockAll = func() (locked, end uint64) {
		rss := func() (now, peak uint64) {
			st, err := procmem.New("").Status(0)
			if err != nil || st.VmRSS == nil || st.VmHWM == nil {
				panic(err)
			}
			return *st.VmRSS, *st.VmHWM
		}
		_ = testenv.RaiseLocked()
		if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE); err != nil {
			panic(err)
		}
		_, locked = rss() // the advisor may be faster
		for last := time.Now().Add(testenv.Patience); Heap() != nil && Heap().Stats().Reserved.Len() > 0 && time.Now().Before(last); {
			time.Sleep(10 * time.Millisecond)
		}
		end, _ = rss()
		return locked, end
	}
}

// TestProgramLocksItsMemory: a program with the import that locks its memory in main has
// no more of it for a reserve, and is told in one line. The import starts before main
// does, so the reserve was there.
func TestProgramLocksItsMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector maps terabytes, which mlockall would put in memory")
	}
	if err := page.Allowed(page.THP); err != nil {
		testenv.Missing(t, "%v", err)
	}
	testenv.MayLock(t)
	const reserve = 512 << 20
	without, _ := role(t, "lock", "heap=off")
	for _, env := range []string{"reserve=512MiB", "heap=reserve,reserve=512MiB", "reserve=512MiB,log=on"} {
		with, stderr := role(t, "lock", env)
		t.Logf("%s: %d MiB when locked, %d MiB at the end; without %d MiB", env, with.Locked>>20, with.RSS>>20, without.RSS>>20)
		if with.Locked < without.Locked+reserve/2 {
			t.Errorf("%s: locking put %d MiB in memory, without a reserve %d MiB: nothing is tested", env, with.Locked>>20, without.Locked>>20)
		}
		// Locked memory cannot be returned, so the heap of each process is what it was at its
		// largest: that varies by some windows.
		if with.RSS > without.RSS+reserve/8 {
			t.Errorf("%s: RSS %d MiB, without a reserve %d MiB", env, with.RSS>>20, without.RSS>>20)
		}
		if n := strings.Count(stderr, "folio: goheap: reserve: released: the program locks its memory (mlockall), "); n != 1 {
			t.Errorf("%s: told %d times: %q", env, n, stderr)
		}
		if !strings.Contains(env, "log=on") && strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: want one line: %q", env, stderr)
		}
	}
}
