package trial

import (
	"os"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/system/inspect"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/system/waterfall"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestPeakReader has it read this process.
func TestPeakReader(t *testing.T) {
	begun := time.Now().Add(-time.Minute)
	r := newPeakReader(procmem.New(""), func() time.Time { return begun })
	go r.run()
	// A reading was made when it asks for another one.
	for range 2 {
		testenv.Eventually(t, "a reading", func() bool {
			select {
			case r.wake <- peakLook{os.Getpid(), 1 << 50}: // nothing is near that: it goes on reading
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
	if w := r.best(4 * rss); w != nil {
		t.Errorf("a quarter of the peak says nothing of it: %+v", w)
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
	if len(woken) != 1 || <-woken != (peakLook{7, 100}) {
		t.Error("the peak wakes nobody")
	}
	r.saw(7, 94)
	r.saw(0, 100)
	if len(woken) != 0 {
		t.Error("it is woken away from the peak")
	}
}
