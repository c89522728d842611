package load

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

var garbage []byte

// While it is held no GC cycle begins, though garbage is made; then GOGC is what it was.
func TestHoldGC(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	held := make([]byte, 20<<20) // a live heap from which GOGC=100 would collect three times
	cycles := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	o := &Options{Rate: 3000, Duration: 5 * time.Second, Warmup: time.Second}
	release := HoldGC(o)
	before := cycles()
	for range 100 {
		garbage = make([]byte, 1<<20)
	}
	if n := cycles() - before; n != 0 {
		t.Errorf("%d GC cycles", n)
	}
	another := HoldGC(o)
	release()
	if got := debug.SetGCPercent(100); got <= 100 {
		t.Errorf("GOGC is %d while it is held", got)
	}
	another()
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("GOGC is %d after it", got)
	}
	runtime.KeepAlive(held)

	debug.SetGCPercent(-1)
	HoldGC(o)()
	if got := debug.SetGCPercent(100); got != -1 {
		t.Errorf("GOGC=off is %d after it", got)
	}
	debug.SetGCPercent(1 << 20)
	release = HoldGC(o)
	if got := debug.SetGCPercent(1 << 20); got != 1<<20 {
		t.Errorf("a larger GOGC is %d while it is held", got)
	}
	release()
}
