package tune

import (
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/test/testenv"
)

// newHungry is a program whose page faults eat what fewer GC cycles gain: only with
// huge pages does a large heap pay.
func newHungry(seed uint64) *simulated {
	s := newSimulated(seed)
	s.perMiB, s.advise = 0.001, 0.9
	return s
}

// The promise of the search holds with huge pages as a second dimension: within 3% of
// the best of the whole grid, in at most half of its time.
func TestSearchAdviseAgainstGrid(t *testing.T) {
	testenv.Alone(t)
	for name, cost := range map[string]float64{"gains": 0.9, "loses": 1.2} {
		t.Run(name, func(t *testing.T) {
			const seeds = 20
			missed := 0
			for seed := range uint64(seeds) {
				g, s := newHungry(seed), newHungry(seed+1000)
				g.advise, s.advise = cost, cost
				if name == "loses" {
					g.perMiB, s.perMiB = 0.0001, 0.0001
				}
				opts := g.options()
				opts.Heap, opts.Exhaustive = true, true
				grid, err := Search(t.Context(), g, opts)
				if err != nil {
					t.Fatal(err)
				}
				opts = s.options()
				opts.Heap, opts.Seed, opts.MaxRounds = true, seed, 10
				res, err := Search(t.Context(), s, opts)
				if err != nil {
					t.Fatal(err)
				}
				fast, best := answerFor(res, Fastest), bestTruth(g, grid.Arms)
				if w, _ := s.truth(fast.Arm.Setting); w > 1.03*best {
					missed++
					t.Logf("seed %d: %s is %.1f%% off the best", seed, fast.Arm.Name, 100*(w/best-1))
				}
				if s.spent > g.spent/2 {
					t.Errorf("seed %d: took %v of the grid's %v", seed, s.spent, g.spent)
				}
				if huge := fast.Arm.Setting.THP == trial.THPHeap; huge != (name == "gains") {
					t.Errorf("seed %d: %s is recommended", seed, fast.Arm.Name)
				}
			}
			if missed > seeds/20 {
				t.Errorf("%d of %d missed the 3%%", missed, seeds)
			}
		})
	}
}

// Who fixes huge pages by a flag gets a search of the rest.
func TestFixedTHP(t *testing.T) {
	for _, thp := range []trial.THP{trial.THPSystem, trial.THPHeap, trial.THPOff} {
		s := newHungry(1)
		opts := s.options()
		opts.Heap, opts.Collapse, opts.THPAlways, opts.Base.THP, opts.FixedTHP = true, true, true, thp, true
		res, err := Search(t.Context(), s, opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range res.Arms {
			if a.Setting.THP != thp {
				t.Errorf("--thp %s: %s was tried", thp, a.Name)
			}
		}
	}
}

func TestKeep(t *testing.T) {
	sample := func(mib uint64) *trial.Sample {
		m := mib << 20
		return &trial.Sample{PeakTreeRSS: &m}
	}
	def := &Arm{Arm: trial.NewArm(trial.Setting{})}
	const (
		auto   = `import _ "github.com/foliomem/folio/auto" in package main, and FOLIO=`
		always = "THP=always for the whole system (as root: echo always > /sys/kernel/mm/transparent_hugepage/enabled)"
	)
	for _, c := range []struct {
		name    string
		setting trial.Setting
		want    []string // of each line
	}{
		{"both", trial.Setting{GOGC: "400", THP: trial.THPHeap},
			[]string{"to keep it: GOGC=400 in the environment of the program, and for the huge pages one of these:",
				"folio exec --thp heap --gogc 400 -- PROGRAM: ", "folio build ./x: ", auto + "reserve=896MiB in the environment", always}},
		{"limit", trial.Setting{GOGC: trial.Off, MemLimit: 1 << 30, THP: trial.THPHeap},
			[]string{"to keep it: GOGC=off GOMEMLIMIT=1GiB in the environment of the program, and for",
				"folio exec --thp heap --gogc off --memlimit 1GiB -- PROGRAM: ", "folio build ./x: ", auto + "reserve=896MiB in", always}},
		// What folio's import would do to the GC was not measured.
		{"huge pages", trial.Setting{THP: trial.THPHeap},
			[]string{"to keep it: for the huge pages one of these:", "folio exec --thp heap -- PROGRAM: ",
				"folio build ./x: ", auto + "reserve=896MiB,gc=off in", always}},
		{"collector", trial.Setting{GOGC: "400"}, []string{"to keep it: GOGC=400 in the environment of the program; it needs no patch"}},
		{"off", trial.Setting{GOGC: "400", THP: trial.THPOff},
			[]string{"to keep it: GOGC=400 in the environment of the program, and folio run --thp=off to start it"}},
		{"off alone", trial.Setting{THP: trial.THPOff}, []string{"to keep it: folio run --thp=off to start it"}},
	} {
		a := &Arm{Arm: trial.NewArm(c.setting)}
		a.Samples = []*trial.Sample{sample(700), sample(890)}
		r := &Result{Arms: []*Arm{def, a}, Package: "./x"}
		got := r.keep(a)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", c.name, got)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: line %d: %q, want %q", c.name, i, got[i], want)
			}
		}
		if r.always = true; len(r.keep(a)) == 5 {
			t.Errorf("%s: the system's setting is advised where it is", c.name)
		}
		if r.keep(def) != nil {
			t.Error("the default is to be kept by something")
		}
		r.Package = ""
		switch got := strings.Join(r.keep(a), "\n"); {
		case c.setting.THP != trial.THPHeap && got != "":
			t.Errorf("%s: a program that folio did not build: %q", c.name, got)
		case c.setting.THP == trial.THPHeap && (!strings.Contains(got, "the line above as ENTRYPOINT") ||
			!strings.Contains(got, "folio patch PROGRAM") ||
			strings.Contains(got, "GOGC=") != (c.setting.GOGC != "")):
			t.Errorf("%s: a program that folio did not build: %q", c.name, got)
		}
	}
	unknown := &Arm{Arm: trial.NewArm(trial.Setting{THP: trial.THPHeap})}
	if got := (&Result{Arms: []*Arm{def, unknown}, Package: "a.go b.go"}).keep(unknown); !strings.Contains(got[2],
		"folio build 'a.go b.go':") || !strings.Contains(got[3], "FOLIO=reserve=limit,gc=off ") {
		t.Errorf("with memory unknown: %q", got)
	}
}

// Of settings that are as fast and take as much memory, the one that sets least is
// recommended: here huge pages are all of the gain.
func TestOnlyHugePagesGain(t *testing.T) {
	testenv.Alone(t)
	const seeds = 40
	var others []string
	for seed := range uint64(seeds) {
		m := collecting(seed, 10, 80)
		m.cycles, m.memory, m.noise = nil, func(trial.Setting) float64 { return 100 }, 0.03
		m.cost = func(set trial.Setting) float64 {
			return map[bool]float64{true: 0.7, false: 1}[set.THP == trial.THPHeap]
		}
		opts := m.options(seed)
		opts.SafeMemory, opts.Heap = 16<<30, true
		if rec := answerFor(mustSearch(t, m, opts), Fastest); rec.Arm.Name != "thp=heap" {
			others = append(others, rec.Arm.Name)
		}
	}
	if len(others) > seeds/10 { // by chance it is found to be slower
		t.Errorf("recommended are %q", others)
	}
}

// A program that never collects gains by huge pages whatever GOGC is. Of the settings
// that do the same, the one that sets nothing else stands for all.
func TestHugePagesWithoutGC(t *testing.T) {
	for seed := range uint64(20) {
		m := newMachine(seed)
		huge := func(set trial.Setting) bool { return set.THP == trial.THPHeap }
		m.cycles = func(trial.Setting) int { return 0 }
		m.faults = func(set trial.Setting) float64 { return map[bool]float64{true: 10_000, false: 460_000}[huge(set)] }
		m.cost = func(set trial.Setting) float64 { return map[bool]float64{true: 0.7, false: 1}[huge(set)] }
		m.noise = 0.02
		opts := m.options(seed)
		opts.SafeMemory, opts.Heap = 16<<30, true
		r := mustSearch(t, m, opts)
		if rec := answerFor(r, Fastest); rec.Arm.Name != "thp=heap" {
			t.Errorf("seed %d: %s is recommended", seed, rec.Arm.Name)
		}
		for _, a := range r.Arms {
			if a.Final != nil && a.Name != "default" && a.Name != "thp=heap" {
				t.Errorf("seed %d: %s is in the final", seed, a.Name)
			}
		}
	}
}

// Huge pages are not tried where folio exec takes more than they could give, or where nothing
// can be gained.
func TestHugePagesWorthTrying(t *testing.T) {
	sample := func(wall float64, faults int64, mib uint64) *trial.Sample {
		m := mib << 20
		return &trial.Sample{Wall: wall, CPU: wall, MinorFaults: faults, HeapPeak: &m}
	}
	sampled := func(share float64) *trial.Sample {
		s := sample(1, 7_000, 30)
		s.Profile = &profile.Result{Samples: 1000, Kernel: true, GCFraction: &share, MemoryTaxFraction: &share,
			Classes: []profile.ClassShare{{Class: profile.PageFaults, Seconds: share, Fraction: share}}}
		return s
	}
	userOnly := sampled(0)
	userOnly.Profile.Kernel, userOnly.MinorFaults = false, 7_200
	for _, c := range []struct {
		name   string
		sample *trial.Sample
		want   string
	}{
		{"the kernel's side is hidden", userOnly, ""},
		{"20 ms, 6.5 MiB", sample(0.02, 1700, 6), "a run takes 20.00ms, and folio exec, which starts a program that way, some 10ms"},
		{"20 ms, 100 MiB", sample(0.02, 25_000, 100), "a run takes 20.00ms, and folio exec, which starts a program that way, some 10ms"},
		{"a large heap", sample(1, 100, 64), ""},
		{"page faults", sample(1, 7_200, 30), ""},
		{"neither", sample(1, 6_000, 63), "page faults take 0.8% of the CPU time (estimated, 1.4us each), and the heap is small"},
		{"few page faults that cost much", sampled(0.04), ""},
		{"many page faults that cost little", sampled(0.004), "page faults take 0.4% of the CPU time, and the heap is small"},
	} {
		if got := noGainByHuge(c.sample); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for _, pkg := range []string{"", "./cmd/prog"} { // what folio builds needs no folio exec
		s := newHungry(1)
		s.base, s.perCycle, s.perMiB = 0.01, 0.0001, 0.0002
		opts := s.options()
		opts.Heap, opts.Package = true, pkg
		res, err := Search(t.Context(), s, opts)
		if err != nil {
			t.Fatal(err)
		}
		tried := slices.ContainsFunc(res.Arms, func(a *Arm) bool { return a.Setting.THP == trial.THPHeap })
		if short := res.Warmup.Wall < 0.1; !short || tried != (pkg != "") {
			t.Errorf("package %q, a run of %vs: thp=heap was tried: %v", pkg, res.Warmup.Wall, tried)
		}
	}
}
