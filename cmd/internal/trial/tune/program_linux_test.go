package tune

import (
	"os"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/test/testenv"
)

// A program is after a search what it was before.
func TestProgramStays(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, heap := range []*trial.Heap{nil, trial.ReadHeap(exe)} {
		p := &trial.Program{Command: []string{exe, "-test.run=^$"}, ReadGC: true, IsGo: true, Heap: heap}
		before := testenv.Dump(p)
		opts := Options{SafeMemory: 1 << 62, Budget: time.Hour, MaxRounds: 2, Exhaustive: true, ReadGC: true,
			Request: trial.Request{Profile: 99, KeepSeries: true, Delays: true}, settings: []trial.Setting{{}, {GOGC: "400"}}}
		if p.MayHeap() == nil {
			opts.settings = append(opts.settings, trial.Setting{THP: trial.THPHeap})
		}
		r, err := Search(t.Context(), p, opts)
		if err != nil || r.Trials < 2*len(opts.settings) {
			t.Fatalf("%+v, %v", r, err)
		}
		if after := testenv.Dump(p); after != before {
			t.Errorf("it was\n%s\nand is\n%s", before, after)
		}
	}
}
