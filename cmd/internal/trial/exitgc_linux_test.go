package trial

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/test/testenv"
)

// roleExitInGC collects without end and ends after so many microseconds, mostly in the
// middle of a GC.
func roleExitInGC(words []string) error {
	var kept [2]*object
	for i := range kept {
		go func() {
			for {
				kept[i] = objects(10 - i)
			}
		}()
	}
	time.Sleep(time.Duration(number(words, 0)) * time.Microsecond)
	fmt.Println("ok  \tprogs/bench\t0.075s")
	os.Exit(0)
	return nil
}

// A program that ends in the middle of a GC is read all the same, and nothing holds it up.
func TestExitInGC(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	for i := range testenv.Some(40, 160) {
		var out, err strings.Builder
		p := role("exit in gc", fmt.Sprint(1000+i*37%9000))
		p.ReadGC, p.Stdout, p.Stderr = true, &out, &err
		s := runOK(t, p, Setting{GOGC: "10"})
		if out.String() != "ok  \tprogs/bench\t0.075s\n" || err.String() != "" {
			t.Errorf("run %d, %v GC cycles: %q, %q", i, orNone(s.GCCycles), &out, &err)
		}
		if s.HeapPeak == nil || s.Uncounted != nil && !errors.Is(s.Uncounted, goruntime.ErrInconsistent) {
			t.Errorf("run %d: %v GC cycles, %v", i, orNone(s.GCCycles), s.Uncounted)
		}
	}
}
