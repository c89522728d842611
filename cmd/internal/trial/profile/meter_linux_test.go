package profile

import (
	"fmt"
	"os"
	"testing"

	"github.com/foliomem/folio/internal/system/perf"
)

// A meter that looks at programs for ever keeps little of them, and closes their files.
func TestMeterForgetsFiles(t *testing.T) {
	bin := build(t, "")
	info, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	real := mapped(t, os.Getpid(), bin)
	var m *Meter
	m = NewMeter(&Options{open: func(at *perf.Mapping) *object {
		o := &object{path: at.Path}
		if err := o.open(bin, real, m.budget); err != nil {
			t.Fatal(err)
		}
		return o
	}})
	defer m.Close()
	const programs, start, step = 40, 1 << 30, 16 << 10
	sampleAll := func() (named int) {
		m.Begin()
		if n := m.budget.Kept(); n != 0 {
			t.Errorf("%d bytes are kept when a window begins", n)
		}
		for i := range programs {
			pid := start + i // nobody's
			m.Add(pid, []perf.Mapping{{PID: pid, Addr: start, Len: uint64(info.Size()), Path: fmt.Sprintf("/program-%d", i), Exec: true}})
			for off := uint64(0); off < uint64(info.Size()); off += step {
				s := sampleOf(1, start+off)
				s.PID = pid
				if _, ok := m.Class(s); ok {
					named++
				}
				if n := m.budget.Kept(); n > meterKept+1<<20 {
					t.Fatalf("%d bytes of files are kept", n)
				}
			}
		}
		return named
	}
	first := sampleAll()
	if first < programs {
		t.Fatalf("%d samples have names", first)
	}
	// What a window searches is not part of what the next may.
	m.budget.Renew(0)
	m.Close()
	if again := sampleAll(); again != first {
		t.Errorf("%d samples have names in the second window, %d in the first", again, first)
	}
	objects := m.c.objects
	open := func() (n int) {
		for _, o := range objects {
			if o.closer != nil {
				n++
			}
		}
		return n
	}
	if n := open(); n != programs {
		t.Errorf("%d files are open, want %d", n, programs)
	}
	for range meterIdle {
		m.Begin()
	}
	if n := open(); n != programs {
		t.Errorf("%d files are open after %d windows, want %d", n, meterIdle, programs)
	}
	if m.Begin(); open() != 0 || len(m.c.byID) != 0 {
		t.Errorf("%d files are open, %d are known, though no process has them mapped", open(), len(m.c.byID))
	}
	if again := sampleAll(); again != first {
		t.Errorf("%d samples have names once they are opened again, %d at first", again, first)
	}
}
