package profile

import (
	"testing"

	"github.com/foliomem/folio/internal/system/perf"
)

// Faults in the heap of a Go program, and those of the process with the most, are counted
// apart, scaled as all faults are.
func TestHeapFaults(t *testing.T) {
	c, h := fakeProgram(nil, Options{}, "")
	for _, addr := range []uint64{0xc000000000, 0x37690000ffff, 0x4000000000, 0x400000, 0x7fffffff, 0xaaaaaaab0000, 0xffff80000000, 0x8000} {
		h.Sample(&perf.Sample{PID: 1, Kind: perf.Fault, Period: 31, InKernel: true, Addr: addr, User: []uint64{0x10000 + workAt}})
	}
	for range 3 {
		h.Sample(&perf.Sample{PID: 2, Kind: perf.Fault, Period: 31, InKernel: true, Addr: 0x8000, User: []uint64{0x10000 + workAt}})
	}
	h.Sample(&perf.Sample{PID: 1, Kind: perf.CPU, Period: 31, Addr: 0xc000000000, User: []uint64{0x10000 + workAt}})
	for _, r := range []*Result{c.Result(Accounts{User: 1}), Mean([]*Result{c.Result(Accounts{User: 1}), c.Result(Accounts{User: 1})})} {
		if r.Faults != 11*31 || r.HeapFaults != 3*31 || r.LargestFaults != 8*31 {
			t.Errorf("%d faults, %d in the heap, %d of one process", r.Faults, r.HeapFaults, r.LargestFaults)
		}
	}
	if r := c.Result(Accounts{User: 1, Faults: 1100}); r.Faults != 1100 || r.HeapFaults != 300 || r.LargestFaults != 800 {
		t.Errorf("of 1100 faults, %d in the heap, %d of one process", r.HeapFaults, r.LargestFaults)
	}
}
