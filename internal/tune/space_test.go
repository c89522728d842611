package tune

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/internal/trial"
)

// The collector is never off without a limit, no limit passes the largest
// allowed, and no setting is tried twice.
func TestSpaceIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sp := &space{
			top:    rapid.Uint64Range(1<<20, 1<<40).Draw(t, "top") >> 20 << 20,
			heap:   rapid.Uint64Range(0, 1<<40).Draw(t, "heap"),
			thpOff: rapid.Bool().Draw(t, "thp"), collapse: rapid.Bool().Draw(t, "collapse"),
			procs: rapid.SliceOfN(rapid.IntRange(1, 64), 0, 3).Draw(t, "procs"),
		}
		if rapid.Bool().Draw(t, "mem") {
			sp.guard = sp.top
		}
		seen := make(map[string]bool)
		for i, s := range sp.grid() {
			if s.GOGC == trial.Off && (s.MemLimit == 0 || s.MemLimit > sp.top) {
				t.Fatalf("arm %d: %s with top %d", i, s, sp.top)
			}
			if seen[s.String()] && len(sp.procs) == 0 {
				t.Fatalf("arm %d: %s twice", i, s)
			}
			seen[s.String()] = true
		}
		if !seen["default"] || !seen["GOGC=25"] {
			t.Fatalf("levels missing: %v", seen)
		}
	})
}

// Huge pages are a dimension only where they may change something.
func TestCrosses(t *testing.T) {
	base := trial.Setting{GOGC: "400"}
	for _, c := range []struct {
		sp   space
		from trial.Setting
		want string
	}{
		{space{}, base, "[]"},
		{space{thpOff: true, collapse: true}, base, "[GOGC=400 thp=off GOGC=400 thp=collapse]"},
		{space{collapse: true, procs: []int{2}}, base, "[GOGC=400 GOMAXPROCS=2 GOGC=400 thp=collapse]"},
		{space{thpOff: true, collapse: true}, trial.Setting{THP: trial.THPCollapse}, "[]"},
	} {
		if got := fmt.Sprint(c.sp.crosses(c.from)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestAround(t *testing.T) {
	sp := &space{top: 4 << 30, heap: 100 << 20}
	got := sp.around(trial.Setting{GOGC: "400"})
	if len(got) != 2 || got[0].String() != "GOGC=283" || got[1].String() != "GOGC=566" {
		t.Errorf("around 400: %v", got)
	}
	got = sp.around(trial.Setting{GOGC: "3200"})
	if len(got) != 1 || got[0].String() != "GOGC=2263" {
		t.Errorf("around 3200: %v", got)
	}
	limits := sp.limits()
	got = sp.around(sp.limit(limits[1]))
	if len(got) != 2 || got[0].MemLimit <= limits[0] || got[0].MemLimit >= limits[1] || got[1].MemLimit <= limits[1] || got[1].MemLimit >= limits[2] {
		t.Errorf("around %d of %v: %v", limits[1], limits, got)
	}
}
