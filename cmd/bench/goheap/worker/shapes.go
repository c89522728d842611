package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// node is a small object; a page of the runtime holds many.
type node struct {
	up   *node
	data [7]uint64
}

func grow(bytes int) []*node {
	out := make([]*node, bytes/64)
	for i := range out {
		out[i] = &node{}
		out[i].up = out[i] // a pointer for the GC, that keeps nothing else
		for j := range out[i].data {
			out[i].data[j] = uint64(i + j)
		}
	}
	return out
}

// keep returns every n-th node, in a slice of its own.
func keep(all []*node, n int) []*node {
	kept := make([]*node, 0, len(all)/n+1)
	for i := 0; i < len(all); i += n {
		kept = append(kept, all[i])
	}
	return kept
}

func check(kept []*node, n int) error {
	for i, k := range kept {
		for j, d := range k.data {
			if d != uint64(i*n+j) {
				return fmt.Errorf("node %d changed: %+v", i, *k)
			}
		}
	}
	return nil
}

// idle lets time pass as a program does that has little to do: it allocates a little,
// and collects once a second.
func idle(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
		grow(1 << 20)
		runtime.GC()
	}
}

const (
	grown = 700 << 20
	rare  = 4096 // of so many nodes one is kept: one page in 64
)

// sparse has a heap with little left in each window before anything is done to it.
func sparse(w *worker) error {
	kept := keep(grow(grown), rare)
	runtime.GC()
	debug.FreeOSMemory()
	return w.rest(kept)
}

// shrink drops most of a heap that was on huge pages, if the arm has them.
func shrink(w *worker) error {
	all := grow(grown)
	idle(4 * time.Second) // for the advisor, or whoever else
	kept := keep(all, rare)
	clear(all)
	runtime.GC()
	debug.FreeOSMemory()
	return w.rest(kept)
}

// rest does little until the time to settle is over.
func (w *worker) rest(kept []*node) error {
	if err := w.say("ready", nil); err != nil {
		return err
	}
	if err := w.await(); err != nil {
		return err
	}
	idle(w.settle)
	if err := check(kept, rare); err != nil {
		return err
	}
	faults, user, sys := used()
	if err := w.say("done", map[string]float64{"faults": faults, "user": user, "sys": sys}); err != nil {
		return err
	}
	err := w.await()
	runtime.KeepAlive(kept)
	return err
}
