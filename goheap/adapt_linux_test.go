package goheap

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

func init() { roles["adapt"] = adaptRole }

func adaptRole() error {
	o := eager()
	o.Reserve = ReserveAdaptive
	o.MinHeap = math.MaxInt64 / 4
	o.Log = func(s string) { fmt.Fprintln(os.Stderr, s) }
	a, err := Start(o)
	if err != nil {
		return err
	}
	var all [][]byte
	first := faults()
	for range 300 {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = 1
		}
		all = append(all, b)
		time.Sleep(2 * time.Millisecond)
		if len(all)%30 == 0 {
			s := a.Stats()
			h := readHeap()
			fmt.Fprintln(os.Stderr, len(all), faults()-first, s.Reserved, s.Advised, s.GivenUp, s.Err, h.goal>>20, h.committed()>>20, s.Ranges, s.Fenced)
		}
	}
	runtime.KeepAlive(all)
	return a.Stop()
}

func TestAdapt(t *testing.T) {
	_, e := testenv.RunRole(t, "adapt", "GOMEMLIMIT=1GiB")
	t.Log(e)
}
