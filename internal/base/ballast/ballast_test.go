package ballast

import (
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
)

var sink *strings.Builder

func live() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func TestBallast(t *testing.T) {
	const size = 256 << 20
	var first uint64
	Read(func(n, _ uint64) { first = n })
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			Read(func(n, _ uint64) {
				if l := live(); l >= size || n != first && n != first+size {
					t.Errorf("%d bytes live, %d of ballast", l, n)
				}
			})
		}
	})
	Drop(func() uint64 {
		b := new(strings.Builder)
		b.Grow(size)
		sink = b
		runtime.GC()
		if l := live(); l < size {
			t.Errorf("%d bytes live: nothing is tested", l)
		}
		sink = nil
		runtime.GC()
		return size
	})
	close(stop)
	wg.Wait()
	Read(func(n, _ uint64) {
		if n != first+size {
			t.Errorf("%d bytes of ballast, want %d", n-first, size)
		}
	})
}
