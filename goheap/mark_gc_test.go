//go:build gc

package goheap

import (
	"runtime"
	"testing"
	"time"
)

// TestMarking sees a mark phase, and that it ends.
func TestMarking(t *testing.T) {
	all := grow(16 << 20)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	seen := false
	for end := time.Now().Add(time.Minute); !seen && time.Now().Before(end); runtime.Gosched() {
		seen = marking()
	}
	close(stop)
	<-done
	if !seen {
		t.Error("no mark phase in a minute of GC cycles")
	}
	for end := time.Now().Add(time.Minute); marking(); runtime.Gosched() { // another test's garbage
		if time.Now().After(end) {
			t.Fatal("a mark phase of a minute")
		}
	}
	if err := check(all); err != nil {
		t.Error(err)
	}
}
