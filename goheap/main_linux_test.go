package goheap

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// An advisor works on the heap of a process, which should have nothing else in it: so it
// is tested in processes of its own.
func TestMain(m *testing.M) {
	testenv.PlayRole(roles)
	os.Exit(m.Run())
}

func needCollapse(t testing.TB) {
	t.Helper()
	if err := mayCollapse(); err != nil {
		testenv.Missing(t, "%v", err)
	}
}

func needTHP(t testing.TB) {
	t.Helper()
	if err := page.Allowed(page.THP, 0); err != nil {
		testenv.Missing(t, "%v", err)
	}
}

// eager are options for tests: nothing waits for long, nor for a busy machine.
func eager() *Options {
	o := &Options{MinHeap: 1, MinWait: 10 * time.Millisecond, Budget: 1, MaxPressure: 1}
	if os.Getenv("GOHEAP_TEST_LOG") != "" {
		o.Log = slog.Default()
	}
	return o
}

// stop stops an advisor, and returns what failed in that.
func stop(a *Advisor) error {
	a.Stop()
	if err := a.Stats().Err; err != nil && strings.HasPrefix(err.Error(), "stop: ") {
		return err
	}
	return nil
}

func rollup() (rss, huge uint64, err error) {
	s, err := procmem.New("").SmapsRollup(0)
	if err != nil {
		return 0, 0, err
	}
	if s.Rss == nil || s.AnonHugePages == nil {
		return 0, 0, errors.New("smaps_rollup lacks Rss or AnonHugePages")
	}
	return *s.Rss, *s.AnonHugePages, nil
}

// faults returns the minor faults of this process so far.
func faults() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return int64(u.Minflt)
}

// thin keeps one node in each of many runtime pages, and drops the others.
func thin(all []*node, every int) (kept []*node) {
	for i := 0; i < len(all); i += every {
		kept = append(kept, all[i])
		all[i].next = nil
	}
	return kept
}

// clean collects and releases all that is not used.
func clean() { runtime.GC(); debug.FreeOSMemory() }

func dump(v any) { _ = json.NewEncoder(os.Stdout).Encode(v) }
