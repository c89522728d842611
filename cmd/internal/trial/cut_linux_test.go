package trial

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

// roleCut writes as much of a first trace line as the runtime does in n writes, and ends.
func roleCut(words []string) error {
	for _, part := range []string{"gc ", "1", " @", "0.004", "s "}[:number(words, 0)] {
		if _, err := os.Stderr.WriteString(part); err != nil {
			return err
		}
	}
	return nil
}

// roleExitInGC collects without end and ends after so many microseconds, mostly in the
// middle of a GC, and now and then of its line.
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

// Nothing is left of the line that a program did not live to complete, even if that is
// its first.
func TestLineCutByTheEnd(t *testing.T) {
	for n := 1; n <= 5; n++ {
		var out, err strings.Builder
		p := role("cut", fmt.Sprint(n))
		p.Trace, p.Stdout, p.Stderr = true, &out, &err
		runOK(t, p, Setting{GOGC: Off})
		if out.String() != "" || err.String() != "" {
			t.Errorf("%d writes: %q, %q", n, &out, &err)
		}
		// Who is not asked for the trace writes text.
		p.Trace = false
		err.Reset()
		if runOK(t, p, Setting{GOGC: Off}); n < 3 && err.String() != "gc 1"[:2+n] {
			t.Errorf("%d writes, not traced: %q", n, &err)
		}
	}
}

func TestExitInGC(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	for i := range testenv.Some(40, 160) {
		var out, err strings.Builder
		p := role("exit in gc", fmt.Sprint(1000+i*37%9000))
		p.Trace, p.Stdout, p.Stderr = true, &out, &err
		s := runOK(t, p, Setting{GOGC: "10"})
		if out.String() != "ok  \tprogs/bench\t0.075s\n" || err.String() != "" {
			t.Errorf("run %d, %v GC cycles: %q, %q", i, orNone(s.GCCycles), &out, &err)
		}
	}
}
