package trial

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestPeakReader has it read this process.
func TestPeakReader(t *testing.T) {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a cycle amid a reading would be noted
	begun := time.Now().Add(-time.Minute)
	r := newPeakReader(procmem.New(""), func() time.Time { return begun })
	go r.run()
	// A reading was made when it asks for another one.
	for range 2 {
		testenv.Eventually(t, "a reading", func() bool {
			select {
			case r.wake <- peakLook{pid: os.Getpid(), peak: 1 << 50}: // nothing is near that: it goes on reading
				return true
			default:
				return false
			}
		})
	}
	r.end()
	if r.last == nil || r.most == nil {
		t.Fatal("nothing was read")
	}
	rss := r.most.Process.Waterfall.RSS
	w := r.best(rss)
	if w == nil || w.At < time.Minute || w.OfPeak < NearPeak || w.OfPeak > 1 || w.Process.PID != os.Getpid() ||
		w.Process.Waterfall.Part(waterfall.Live).Runtime == nil || len(w.Process.Notes) > 0 {
		t.Errorf("%+v", w)
	}
	if len(w.Process.Remedies.List) == 0 {
		t.Error("no advice")
	}
	for _, m := range w.Process.Remedies.List {
		if strings.Contains(m.Code, strconv.Itoa(os.Getpid())) {
			t.Errorf("%q is for a process that has ended when it is read", m.Code)
		}
	}
	if w := r.best(4 * rss); w != nil {
		t.Errorf("a quarter of the peak says nothing of it: %+v", w)
	}
}

// While the load generator is spared, the page tables of a large process are left alone; they
// are walked once it has ended, before the server is stopped.
func TestSpare(t *testing.T) {
	pid := os.Getpid()
	s, err := newSampler(procmem.New(""), 0, false, nil, func() (int, error) { return pid, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer s.alarm.close()
	defer s.tree.Close()
	begun := time.Now().Add(-time.Minute)
	s.reader = newPeakReader(procmem.New(""), func() time.Time { return begun })
	go s.reader.run()
	s.walkCost = time.Hour
	spared := s.spare()
	for range 3 {
		s.look()
		s.lookHuge(false)
	}
	if s.hugeSeen || s.walkCost != time.Hour {
		t.Error("it walked page tables")
	}
	spared()
	s.reader.end()
	if !s.hugeSeen || s.walkCost == time.Hour || s.reader.last == nil {
		t.Errorf("not looked at: huge pages seen %v, memory %v", s.hugeSeen, s.reader.last)
	}
	s.hugeSeen, s.walkCost = false, 0
	s.spare()
	if s.lookHuge(false); !s.hugeSeen {
		t.Error("a short walk was left out")
	}
}

func TestPeakReaderChooses(t *testing.T) {
	of := func(rss uint64) *Waterfall {
		return &Waterfall{Process: &inspect.Process{Waterfall: &waterfall.Waterfall{RSS: rss}}}
	}
	for _, c := range []struct {
		readings   []uint64
		peak, want uint64
	}{
		{nil, 100, 0},
		{[]uint64{50, 97, 100, 96}, 100, 96}, // the last within 5%
		{[]uint64{50, 100, 94}, 100, 100},
		{[]uint64{50, 80, 70}, 100, 80}, // none is: the nearest
		{[]uint64{10, 49}, 100, 0},
		{[]uint64{110}, 100, 110}, // the kernel counts in batches
	} {
		r := &peakReader{}
		for _, n := range c.readings {
			r.add(of(n))
		}
		got := uint64(0)
		if w := r.best(c.peak); w != nil {
			got = w.Process.Waterfall.RSS
			if notes := w.Process.Notes; (len(notes) > 0) != (got > c.peak) {
				t.Errorf("%v, peak %d: what does not agree is said, and only that: %q", c.readings, c.peak, notes)
			}
		}
		if got != c.want {
			t.Errorf("%v, peak %d: %d, want %d", c.readings, c.peak, got, c.want)
		}
	}
	// What is far from the peak wakes nobody.
	r := newPeakReader(procmem.New(""), time.Now)
	woken := make(chan peakLook, 1)
	r.wake = woken
	r.saw(7, 100)
	if len(woken) != 1 || <-woken != (peakLook{pid: 7, peak: 100}) {
		t.Error("the peak wakes nobody")
	}
	r.saw(7, 94)
	r.saw(0, 100)
	if len(woken) != 0 {
		t.Error("it is woken away from the peak")
	}
}
