package tune

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// The GC is never off without a limit, no limit passes the largest
// allowed, and no setting is tried twice.
func TestSpaceIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sp := &space{
			top:    rapid.Uint64Range(1<<20, 1<<40).Draw(t, "top") >> 20 << 20,
			heap:   rapid.Uint64Range(0, 1<<40).Draw(t, "heap"),
			thpOff: rapid.Bool().Draw(t, "thp"), collapse: rapid.Bool().Draw(t, "collapse"),
			huge: rapid.Bool().Draw(t, "advise"), always: rapid.Bool().Draw(t, "always"),
			try: procs(rapid.SliceOfN(rapid.IntRange(1, 64), 0, 3).Draw(t, "procs")...),
		}
		if rapid.Bool().Draw(t, "mem") {
			sp.guard, sp.tight = sp.top, rapid.Bool().Draw(t, "tight")
		}
		seen := make(map[string]bool)
		for i, s := range sp.grid() {
			if s.GOGC == trial.Off && (s.MemLimit == 0 || s.MemLimit > sp.top) {
				t.Fatalf("arm %d: %s with top %d", i, s, sp.top)
			}
			if seen[s.String()] && len(sp.try) == 0 {
				t.Fatalf("arm %d: %s twice", i, s)
			}
			seen[s.String()] = true
		}
		if !seen["default"] || len(sp.try) == 0 && sp.guard == 0 && (!seen["GOGC=25"] || !seen["GOGC=800"]) {
			t.Fatalf("levels missing: %v", seen)
		}
		if sp.huge != seen["thp=heap"] {
			t.Fatalf("advise is %v: %v", sp.huge, seen)
		}
		for name := range seen {
			plain, ok := strings.CutSuffix(name, " thp=heap")
			if ok && !seen[plain] {
				t.Fatalf("%s is there, %s is not: %v", name, plain, seen)
			}
		}
	})
}

// level is the GOGC of a setting where the environment sets none.
func level(s trial.Setting) int { return (&space{}).level(s) }

// What the environment sets is the default, and not tried again; Go's own default is then
// one more level.
func TestEnvironmentIsTheDefault(t *testing.T) {
	for _, c := range []struct {
		sp      space
		coarse  string // begins with
		not     string
		crosses string
	}{
		{space{env: trial.Setting{GOGC: "400"}}, "[default GOGC=100 GOGC=off GOMEMLIMIT=1GiB GOGC=200 GOGC=800", "GOGC=400", "[]"},
		{space{env: trial.Setting{GOGC: "100"}}, "[default GOGC=400 GOGC=off GOMEMLIMIT=1GiB GOGC=200", "GOGC=100", "[]"},
		{space{env: trial.Setting{GOGC: "70"}}, "[default GOGC=400 GOGC=100 GOGC=off GOMEMLIMIT=1GiB GOGC=200", "GOGC=70", "[]"},
		{space{env: trial.Setting{GOGC: "off", MemLimit: 1 << 30}}, "[default GOGC=400 GOGC=100 GOGC=200", "GOMEMLIMIT=1GiB", "[]"},
		{space{env: trial.Setting{GOGC: "800"}, huge: true}, "[default thp=heap GOGC=400 thp=heap GOGC=400 GOGC=100 thp=heap", "GOGC=800", "[thp=heap]"},
		{space{env: trial.Setting{GOMAXPROCS: 2}, try: procs(1, 2), tail: true}, "[default GOGC=400 GOGC=off", "GOMAXPROCS=2", "[GOMAXPROCS=1]"},
	} {
		c.sp.top, c.sp.heap = 1<<30, 1<<28
		if got := fmt.Sprint(c.sp.coarse()); !strings.HasPrefix(got, c.coarse) || strings.Contains(got, c.not) {
			t.Errorf("%+v: coarse %s, want %s..., without %s", c.sp.env, got, c.coarse, c.not)
		}
		if got := fmt.Sprint(c.sp.grid()); strings.Contains(got, c.not) {
			t.Errorf("%+v: grid %s, want none with %s", c.sp.env, got, c.not)
		}
		if got := fmt.Sprint(c.sp.crosses(trial.Setting{})); got != c.crosses {
			t.Errorf("%+v: crosses %s, want %s", c.sp.env, got, c.crosses)
		}
	}
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
		{space{collapse: true, try: procs(2)}, base, "[GOGC=400 GOMAXPROCS=2 GOGC=400 thp=collapse]"},
		{space{thpOff: true, collapse: true}, trial.Setting{THP: trial.THPCollapse}, "[]"},
		{space{huge: true}, base, "[GOGC=400 thp=heap]"},
		{space{huge: true, thpOff: true, collapse: true}, trial.Setting{GOGC: "400", THP: trial.THPHeap}, "[GOGC=400]"},
	} {
		if got := fmt.Sprint(c.sp.crosses(c.from)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// With huge pages to ask for, the levels are tried with them, and some without.
func TestCoarseAdvise(t *testing.T) {
	sp := &space{top: 1 << 30, heap: 1 << 30, huge: true}
	want := "[default thp=heap GOGC=400 thp=heap GOGC=400 GOGC=off GOMEMLIMIT=1GiB thp=heap GOGC=200 thp=heap " +
		"GOGC=800 thp=heap GOGC=800 GOGC=1600 thp=heap GOGC=50 thp=heap GOGC=3200 thp=heap GOGC=25 thp=heap]"
	if got := fmt.Sprint(sp.coarse()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	sp.always = true // the system gives them anyway
	if got := fmt.Sprint(sp.coarse()); strings.Contains(got, "advise") {
		t.Errorf("with THP always: %s", got)
	}
}

// Where a tail is to be short, another GOMAXPROCS is among the first.
func TestCoarseTail(t *testing.T) {
	for _, c := range []struct {
		sp   space
		want string
	}{
		{space{huge: true, try: procs(2, 4)}, "[default thp=heap GOGC=400 thp=heap GOMAXPROCS=2 thp=heap GOGC=400 "},
		{space{try: procs(2)}, "[default GOGC=400 GOGC=off GOMEMLIMIT=1GiB GOMAXPROCS=2 GOGC=200 "},
		{space{}, "[default GOGC=400 GOGC=off GOMEMLIMIT=1GiB GOGC=200 "},
	} {
		c.sp.top, c.sp.heap, c.sp.tail = 1<<30, 1<<30, true
		if got := fmt.Sprint(c.sp.coarse()); !strings.HasPrefix(got, c.want) {
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
	got = sp.around(trial.Setting{GOGC: "400", THP: trial.THPHeap, GOMAXPROCS: 2})
	if len(got) != 2 || got[0].String() != "GOGC=283 GOMAXPROCS=2 thp=heap" || got[1].String() != "GOGC=566 GOMAXPROCS=2 thp=heap" {
		t.Errorf("around 400 with more: %v", got)
	}
	got = sp.around(trial.Setting{GOGC: "3200"})
	if len(got) != 1 || got[0].String() != "GOGC=2263" {
		t.Errorf("around 3200: %v", got)
	}
	limits := sp.limits()
	got = sp.around(sp.limit(sp.base, limits[1]))
	if len(got) != 2 || got[0].MemLimit <= limits[0] || got[0].MemLimit >= limits[1] || got[1].MemLimit <= limits[1] ||
		got[1].MemLimit >= limits[2] {
		t.Errorf("around %d of %v: %v", limits[1], limits, got)
	}
}

// procs are settings of GOMAXPROCS alone.
func procs(n ...int) (out []trial.Setting) {
	for _, n := range n {
		out = append(out, trial.Setting{GOMAXPROCS: n})
	}
	return out
}
