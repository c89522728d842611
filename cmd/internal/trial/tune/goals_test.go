package tune

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// A setting that gets most of the gain for little of the memory is named.
func TestCompromise(t *testing.T) {
	named := 0
	for seed := range uint64(20) {
		m := newMachine(seed)
		m.noise = 0.02
		m.cost = func(set trial.Setting) float64 {
			switch {
			case set.GOGC == trial.Off:
				return 1
			case level(set) >= 400:
				return 0.7
			case level(set) >= 200:
				return 0.8
			}
			return 1
		}
		m.memory = func(set trial.Setting) float64 { return 100 * float64(max(level(set), 50)) / 100 }
		r := mustSearch(t, m, m.options(seed))
		main, less := answerFor(r, Fastest), answerFor(r, Compromise)
		if n := level(main.Arm.Setting); n < 400 || n > 800 {
			t.Errorf("seed %d: %s is recommended", seed, main.Arm.Name)
		}
		if less == nil {
			continue
		}
		named++
		if n := level(less.Arm.Setting); n < 200 || n >= 400 || !less.Arm.Final.Ratio.Different ||
			*less.Arm.Final.Memory >= *main.Arm.Final.Memory {
			t.Errorf("seed %d: %s is called a compromise", seed, less.Arm.Name)
		}
	}
	if named < 15 {
		t.Errorf("named in %d of 20", named)
	}
}

// What is said of memory in percent is what the sizes beside it say.
func TestMemoryAgrees(t *testing.T) {
	for seed := range uint64(10) {
		m, n := newMachine(seed), 0
		m.memory = func(set trial.Setting) float64 { // of every third run, half
			n++
			return float64(max(level(set), 50)) * float64(2-min(n%3, 1))
		}
		compared := 0
		r := mustSearch(t, m, m.options(seed))
		for _, a := range r.Arms[1:] {
			if a.Final == nil || a.Final.MemoryRatio == nil || a.Final.Memory == nil {
				continue
			}
			compared++
			e, want := a.Final.MemoryRatio, *a.Final.Memory / *r.Arms[0].Final.Memory
			if e.Ratio != want || e.Lo != nil && (*e.Lo > want || *e.Hi < want) {
				t.Errorf("seed %d: %s: memory %v [%v, %v], want %v", seed, a.Name, e.Ratio, e.Lo, e.Hi, want)
			}
		}
		if compared == 0 {
			t.Errorf("seed %d: nothing was compared", seed)
		}
	}
}

// Where the best setting has a GOMEMLIMIT that fits these runs, the best one without is named,
// too, and nothing where it has none.
func TestUnlimited(t *testing.T) {
	for _, limited := range []bool{true, false} {
		named, main := 0, 0
		for seed := range uint64(20) {
			m := newMachine(seed)
			m.noise = 0.02
			m.cost = func(set trial.Setting) float64 {
				switch {
				case set.MemLimit > 0 && limited:
					return 0.6
				case level(set) >= 400 && set.GOGC != trial.Off:
					return 0.7
				}
				return 1
			}
			r := mustSearch(t, m, m.options(seed))
			best, other := answerFor(r, Fastest), answerFor(r, Unlimited)
			if (best.Arm.Setting.MemLimit > 0) == limited {
				main++
			}
			if other == nil {
				continue
			}
			named++
			if other.Arm.Setting.MemLimit > 0 || !other.Arm.Final.Ratio.Different || best.Arm.Setting.MemLimit == 0 {
				t.Errorf("seed %d: %s is named beside %s", seed, other.Arm.Name, best.Arm.Name)
			}
		}
		if main < 18 || limited && named < 15 || !limited && named > 0 {
			t.Errorf("limited %v: in %d of 20 the best one is so, in %d one without is named", limited, main, named)
		}
	}
}
