package goheap

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/test/testenv"
)

func init() { roles["locks"] = locksRole }

const (
	lockEnv     = "GOHEAP_TEST_LOCK" // "current", "future", "current future"
	lockWhenEnv = "GOHEAP_TEST_WHEN" // "before" or "after" the reserve is made; "" without one
	lockReserve = 192 << 20
	lockGrown   = 64 << 20
)

// lockState is what a program that locks its memory says of itself. RSS in bytes.
type lockState struct {
	Start, Locked, End, Grown uint64
	Reserved                  bool     // at the end
	GrownIsLocked             bool     // what the heap grew into is
	Warned                    []string // by the advisor
	Error                     string   // of Start
}

// lockRSS returns the RSS now, and the most that it was.
func lockRSS() (rss, peak uint64) {
	st, err := procFS.Status(0)
	if err != nil || st.VmRSS == nil || st.VmHWM == nil {
		panic(fmt.Sprint("VmRSS and VmHWM are not known: ", err))
	}
	return *st.VmRSS, *st.VmHWM
}

// locksRole is a program that locks its memory, as those do that keep secrets.
func locksRole() error {
	flags := 0
	for name := range strings.FieldsSeq(os.Getenv(lockEnv)) {
		flags |= map[string]int{"current": unix.MCL_CURRENT, "future": unix.MCL_FUTURE}[name]
	}
	lock := func() error {
		_ = testenv.RaiseLocked()
		return unix.Mlockall(flags)
	}
	when := os.Getenv(lockWhenEnv)
	if when != "after" {
		if err := lock(); err != nil {
			return err
		}
	}
	var s lockState
	var mu sync.Mutex
	var a *Advisor
	if when != "" {
		o := &Options{Reserve: lockReserve, NoCollapse: true, MinWait: 10 * time.Millisecond, Log: testenv.Log(func(level slog.Level, text string) {
			if level < slog.LevelWarn {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			s.Warned = append(s.Warned, text)
		}).Logger()}
		var err error
		if a, err = Start(o); err != nil {
			s.Error = err.Error()
		}
	}
	s.Start, _ = lockRSS()
	if when == "after" {
		if err := lock(); err != nil {
			return err
		}
	}
	_, s.Locked = lockRSS() // the advisor may be faster
	debug.FreeOSMemory()    // what it maps is locked: the advisor is to see it
	if when == "after" {
		if err := testenv.Await("the reserve is released", func() bool { return a.Stats().Reserved.Len() == 0 }); err != nil {
			return fmt.Errorf("%w: %+v", err, a.Stats())
		}
	}
	s.Reserved = a != nil && a.Stats().Reserved.Len() > 0
	s.End, _ = lockRSS()
	b := make([]byte, lockGrown)
	for i := range b {
		b[i] = byte(i)
	}
	s.Grown, _ = lockRSS()
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) + lockGrown/2
	locked, err := lastLocked(procFS, page.Range{Start: at, End: at})
	if err != nil {
		return err
	}
	s.GrownIsLocked = locked
	if a != nil {
		if err := stop(a); err != nil {
			return err
		}
	}
	for i, v := range b {
		if v != byte(i) {
			return errors.New("the heap's contents changed")
		}
	}
	runtime.KeepAlive(b)
	mu.Lock()
	defer mu.Unlock()
	dump(s)
	return nil
}

func lockRun(t *testing.T, how, when string) (s lockState) {
	t.Helper()
	out, _ := testenv.RunRole(t, "locks", lockEnv+"="+how, lockWhenEnv+"="+when, "GOGC=off")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return s
}

// TestReserveOfAProgramThatLocksItsMemory: mlockall puts the reserve in memory at once,
// which nobody asked for. It is refused where the program has locked its memory
// before, and released where it does so later; what the heap grows into is locked as it
// would be without. RSS is that of the same program without a reserve.
func TestReserveOfAProgramThatLocksItsMemory(t *testing.T) {
	testenv.Long(t)
	needTHP(t)
	if raceEnabled {
		t.Skip("the race detector maps terabytes, which mlockall would put in memory")
	}
	testenv.MayLock(t)
	const slack = 16 << 20 // metadata of the reserve, and steps of 4 MiB
	for _, how := range []string{"current", "future", "current future"} {
		t.Run(how, func(t *testing.T) {
			without := lockRun(t, how, "")
			before, after := lockRun(t, how, "before"), lockRun(t, how, "after")
			t.Logf("without %+v\nbefore %+v\nafter %+v", without, before, after)
			if strings.Contains(how, "current") && after.Locked < after.Start+lockReserve/2 {
				t.Errorf("locking put %d MiB in memory: nothing is tested", (after.Locked-after.Start)>>20)
			}
			if strings.Contains(how, "future") {
				if !strings.Contains(before.Error, "goheap: reserve: the process locks the memory that it maps (mlockall)") {
					t.Errorf("locked before: Start: %q", before.Error)
				}
				if before.End > without.End+slack {
					t.Errorf("locked before: RSS %d MiB, without a reserve %d MiB", before.End>>20, without.End>>20)
				}
			}
			if after.Reserved || len(after.Warned) != 1 ||
				!strings.HasPrefix(after.Warned[0], "goheap: reserve: released: the program locks its memory (mlockall), ") ||
				strings.Contains(after.Warned[0], "\n") {
				t.Errorf("locked after: reserve %v, said %q", after.Reserved, after.Warned)
			}
			for name, rss := range map[string][2]uint64{"": {after.End, without.End}, ", grown": {after.Grown, without.Grown}} {
				if rss[0] > rss[1]+slack {
					t.Errorf("locked after%s: RSS %d MiB, without a reserve %d MiB", name, rss[0]>>20, rss[1]>>20)
				}
			}
			if after.GrownIsLocked != without.GrownIsLocked {
				t.Errorf("what the heap grew into is locked: %v, without a reserve %v", after.GrownIsLocked, without.GrownIsLocked)
			}
		})
	}
}
