package main

import (
	"errors"
	"math"
	"sync"
	"time"

	"github.com/foliomem/folio/internal/library/heapmap"
	"github.com/foliomem/folio/internal/system/page"
)

// watch looks at the heap of a process from outside, again and again.
type watch struct {
	quit, done chan struct{}
	once       sync.Once
	soon       map[float64]float64 // when a coverage was reached, in seconds
	last       float64             // coverage
	err        error
}

const watchEvery = 100 * time.Millisecond

var nan = math.NaN()

func (b *bench) startWatch(pid int) *watch {
	w := &watch{quit: make(chan struct{}), done: make(chan struct{}), soon: map[float64]float64{0.8: nan, 0.95: nan}}
	began := time.Now()
	go func() {
		defer close(w.done)
		for {
			w.last, w.err = heapCoverage(pid)
			for c, at := range w.soon {
				if w.err == nil && math.IsNaN(at) && w.last >= c {
					w.soon[c] = time.Since(began).Seconds()
				}
			}
			select {
			case <-w.quit:
				return
			case <-time.After(watchEvery):
			}
		}
	}()
	return w
}

func (w *watch) stop() {
	w.once.Do(func() { close(w.quit) })
	<-w.done
}

// figures are to be read after stop.
func (w *watch) figures(r result) error {
	r["coverage"], r["80%"], r["95%"] = w.last, w.soon[0.8], w.soon[0.95]
	return w.err
}

// heapCoverage is that of the Go heap of a process.
func heapCoverage(pid int) (float64, error) {
	p, err := page.OpenProcess(pid)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	ranges, err := heapmap.Find(pid)
	if err != nil {
		return 0, err
	}
	var sum page.Residency
	for _, r := range ranges {
		res, rerr := p.Residency(r, nil)
		err = errors.Join(err, rerr)
		sum.Resident += res.Resident
		sum.Huge += res.Huge
	}
	return sum.Coverage(), err
}
