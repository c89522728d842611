package tune

import (
	"strings"
	"testing"
	"time"
)

// No search of more than an hour is advised, whatever the noise and however slow the program.
func TestNoAdviceAboveAnHour(t *testing.T) {
	long := 0
	for _, noise := range []float64{0.02, 0.1, 0.5} {
		for _, slow := range []float64{1, 20} {
			for seed := range uint64(6) {
				s := newSimulated(seed)
				s.noise, s.base, s.perCycle = noise, slow, slow/50
				opts := s.options()
				opts.Seed, opts.Budget = seed, 10*time.Minute
				res, err := Search(t.Context(), s, opts)
				if err != nil {
					t.Fatal(err)
				}
				a := res.Answer
				if a.State != Inconclusive {
					continue
				}
				if total := res.Elapsed.Seconds() + a.Missing; total > time.Hour.Seconds() {
					long++
					d, err := time.ParseDuration(strings.TrimPrefix(a.Try, "--budget "))
					if a.Try != "" && (err != nil || d > time.Hour || a.Untried == 0) {
						t.Errorf("noise %v, runs of %vs, seed %d: %v of search: %q", noise, slow, seed, total, a.Try)
					}
				} else if a.Try == "" {
					t.Errorf("noise %v, runs of %vs, seed %d: %v of search, and no advice", noise, slow, seed, total)
				}
			}
		}
	}
	if long == 0 {
		t.Error("no search would have taken more than an hour: nothing was tested")
	}
	s := newSimulated(1)
	s.base = 200
	opts := s.options()
	opts.Budget = 5 * time.Minute
	_, err := Search(t.Context(), s, opts)
	if err == nil || !strings.HasSuffix(err.Error(), "no settings can be compared; give the program less work: 21 runs take more than an hour") {
		t.Errorf("runs of minutes: %v", err)
	}
}
