package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"
)

type entry struct {
	key  uint64
	data [3]uint64
}

// key is the i-th key: they are in no order.
func key(i int) uint64 {
	x := uint64(i) * 0x9e3779b97f4a7c15
	return x ^ x>>29
}

const (
	batch   = 256  // lookups that are timed together
	batches = 8000 // that count
	cycles  = 5    // GC cycles that are timed
)

// lookups builds a map of entries, and then looks them up in no order.
func lookups(w *worker) error {
	began := time.Now()
	m := map[uint64]*entry{}
	for i := range w.entries {
		k := key(i)
		m[k] = &entry{key: k, data: [3]uint64{uint64(i), k, 1}}
	}
	build := time.Since(began).Seconds()
	faults, user, sys := used()
	figures := map[string]float64{"build": build, "build faults": faults, "build user": user, "build sys": sys}
	if err := w.say("ready", figures); err != nil {
		return err
	}
	if err := w.await(); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for end := time.Now().Add(w.settle); time.Now().Before(end); {
		if _, err := lookup(m, r, w.entries); err != nil {
			return err
		}
	}
	var times []float64
	for range batches {
		d, err := lookup(m, r, w.entries)
		if err != nil {
			return err
		}
		times = append(times, d.Seconds())
	}
	slices.Sort(times)
	var gc []float64
	for range cycles {
		began := time.Now()
		runtime.GC()
		gc = append(gc, time.Since(began).Seconds())
	}
	slices.Sort(gc)
	time.Sleep(3 * time.Second) // the runtime's scavenger releases what is too much
	faults, user, sys = used()
	if err := w.say("done", map[string]float64{
		"op": times[len(times)/2] / batch, "p99": times[len(times)*99/100] / batch, "gc": gc[len(gc)/2],
		"faults": faults, "user": user, "sys": sys, "live": live(),
	}); err != nil {
		return err
	}
	err := w.await() // memory is looked at
	runtime.KeepAlive(m)
	return err
}

// live is what the last GC cycle left.
func live() float64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64())
}

// lookup looks up a batch of entries, and checks them.
func lookup(m map[uint64]*entry, r *rand.Rand, n int) (time.Duration, error) {
	began := time.Now()
	for range batch {
		k := key(r.IntN(n))
		if e := m[k]; e == nil || e.key != k || e.data[1] != k {
			return 0, fmt.Errorf("the entry of %d is %+v", k, e)
		}
	}
	return time.Since(began), nil
}
