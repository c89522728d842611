package profile

import (
	"bytes"
	"testing"

	"github.com/foliomem/folio/internal/system/perf"
)

// A meter says of each sample what a collector says of it, and does not grow.
func TestMeter(t *testing.T) {
	c, h := fakeCollector(nil, Options{})
	m := NewMeter(&Options{open: func(at *perf.Mapping) *object {
		o := &object{path: at.Path, syms: &fakeSymbols{fakes, ""}}
		o.setCode(bytes.NewReader(code(nil)))
		return o
	}})
	defer m.Close()
	mappings := []perf.Mapping{{PID: 1 << 30, Addr: 0x10000, Len: 0x1000, Path: "/program", Exec: true}}
	want := map[Class]int{}
	samples := []*perf.Sample{
		sampleOf(1, computeAt+1, mainAt+9), sampleOf(1, mallocAt+1, workAt+7, mainAt+9), sampleOf(1, workerAt+1),
		sampleOf(1, clearAt+1, mallocAt+3, workAt+8, mainAt+9),
	}
	for _, s := range samples {
		h.Sample(s)
	}
	for _, e := range c.stacks {
		want[c.classOf(e)] += int(e.count)
	}
	if _, ok := m.Class(samples[0]); ok {
		t.Error("a class of a process that was not added")
	}
	for range 2 {
		m.Begin()
		m.Add(1<<30, mappings)
		got := map[Class]int{}
		for _, s := range samples {
			s.PID = 1 << 30
			class, ok := m.Class(s)
			if !ok {
				t.Errorf("a sample of %s without a name", class)
			}
			got[class]++
		}
		for class, n := range want {
			if got[class] != n {
				t.Errorf("%d samples are %s, want %d", got[class], class, n)
			}
		}
	}
	for i := range uint64(10 * meterPlaces) { // generated code can be anywhere
		m.Class(&perf.Sample{PID: 1 << 30, Period: 1, InKernel: true, Kernel: []uint64{i << 20}, User: []uint64{0x10000 + workAt}})
	}
	if n := len(m.c.places); n > 2*meterPlaces+128 {
		t.Errorf("%d places", n)
	}
	if class, ok := m.Class(samples[2]); class != GCMark || !ok {
		t.Errorf("a GC worker is %s, %v", class, ok)
	}
}
