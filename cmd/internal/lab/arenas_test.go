package lab

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

func TestSelect(t *testing.T) {
	for name, want := range map[string][]*Experiment{
		"arenas": {arenas, arenasJSON, arenasIndex}, "arenas-json": {arenasJSON}, "pages": {pages},
	} {
		if got, err := Select(name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{"arena": "did you mean arenas?", "arenas-index": "",
		"arenas-jsn": "did you mean arenas-json?", "": "want one of"} {
		if _, err := Select(name); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := Lookup("arenas"); err == nil || !strings.Contains(err.Error(), "3 experiments, not one") {
		t.Errorf("%v", err)
	}
}

// The processes of these arms have the runtime's settings that the arms are about,
// whatever the user's environment says.
func TestArenasSettings(t *testing.T) {
	m := machine("")
	for _, e := range []*Experiment{arenas, arenasJSON, arenasIndex} {
		for name, want := range map[string]string{
			"new": "100 0 GOMEMLIMIT=off", "gogc-800": "800 0 GOMEMLIMIT=off", "gogc-off": fmt.Sprintf("off %d ", 4*e.defaults.Size),
			"goarena": "100 0 GOMEMLIMIT=off", "folio-plain": "100 0 GOMEMLIMIT=off",
		} {
			s := setting(find(t, e, m, name))
			if got := fmt.Sprint(s.GOGC, " ", s.MemLimit, " ", strings.Join(s.Env, " ")); got != want {
				t.Errorf("%s %s: %s %q, want %s", e.Name, name, got, s.Env, want)
			}
		}
	}
}

// arenasOutcome is an outcome with the same figures in each of some rounds.
func arenasOutcome(rounds int, arms map[string]map[string]float64) *Outcome {
	o := &Outcome{Experiment: arenas, Params: arenas.defaults, Rounds: rounds}
	for _, a := range arenas.Arms(machine(""), arenas.defaults) {
		r := &ArmResult{Arm: a}
		for i := range rounds {
			m := make(map[string]float64)
			for k, v := range arms[a.Name] {
				if k == "wall_seconds" {
					v *= 1 + float64(i)/1000
				}
				m[fmt.Sprintf("Arenas-trees/size=%d %s", arenas.defaults.Size, k)] = v
			}
			if len(m) > 0 {
				r.Samples = append(r.Samples, &trial.Sample{Metrics: m})
			}
		}
		o.Arms = append(o.Arms, r)
	}
	return o
}

func TestArenasMeaning(t *testing.T) {
	row := func(wall, cpu, faults, mib, huge float64) map[string]float64 {
		return map[string]float64{"wall_seconds": wall, "cpu_seconds": cpu, "faults": faults,
			"peak_rss_bytes": mib * (1 << 20), "huge_fraction": huge}
	}
	for _, tt := range []struct {
		name   string
		rounds int
		arms   map[string]map[string]float64
		want   []string
	}{
		{"all", 6, map[string]map[string]float64{
			"new": row(16, 30, 100e3, 300, 0), "gogc-400": row(10, 12, 100e3, 400, 0),
			"gogc-800": row(8, 9, 100e3, 900, 0), "gogc-off": row(9, 9, 100e3, 500, 0),
			"goarena": row(12, 20, 1e6, 600, 0), "folio": row(2, 3, 1000, 150, 0.9),
			"folio-base": row(3, 4, 66e3, 150, 0), "folio-keep": row(1.9, 3, 1000, 450, 0.9),
		}, []string{
			"Binary trees: Folio's arenas take 2.005s, new 16.04s: 8.00x as fast, in 10.0% of the CPU time, with 1.0% of its page faults and 50.0% of its peak RSS.",
			"Their huge pages make them 1.50x as fast, with 1.5% of the faults; measured, 90.0% of the process's memory was huge.",
			"Without early release they are 1.05x as fast, and the peak is 450.0MiB instead of 150.0MiB.",
			"Without a change to the program, GOGC=800 is 2.00x as fast as new, with 100.0% of its page faults and 300.0% of its peak RSS; Folio's arenas are 4.00x as fast as that.",
			"The arenas of Go's experiment are 1.33x as fast as new, with 1000.0% of its page faults and 200.0% of its peak RSS; Folio's are 6.00x as fast as they are.",
		}},
		{"no gain", 6, map[string]map[string]float64{
			"new": row(2, 3, 1000, 100, 0), "gogc-off": row(2.2, 3, 1000, 100, 0), "folio": row(2, 3, 1000, 100, 0),
			"folio-base": row(2, 3, 1000, 100, 0),
		}, []string{
			"Binary trees: Folio's arenas take 2.005s, new 2.005s, with 100.0% of its page faults and 100.0% of its peak RSS.",
			"They asked for huge pages and got next to none: 0.0% of the process's memory was huge.",
			"Without a change to the program, GOGC=off and GOMEMLIMIT=512MiB is 0.91x as fast as new, with 100.0% of its page faults and 100.0% of its peak RSS; Folio's arenas are 1.10x as fast as that.",
			"Undecided by 6 runs per arm: folio against new (1.00x); folio against new, cpu (1.00x); folio against folio-base (1.00x).",
		}},
		{"one round", 1, map[string]map[string]float64{
			"new": {"wall_seconds": 2, "cpu_seconds": 2}, "folio": {"wall_seconds": 1, "cpu_seconds": 1},
		}, []string{"Inconclusive: 1 run per arm. Conclusions take 3, differences between two arms 4 (--rounds)."}},
		{"three rounds", 3, map[string]map[string]float64{
			"new": {"wall_seconds": 2, "cpu_seconds": 2}, "folio": {"wall_seconds": 1, "cpu_seconds": 1},
		}, []string{"Binary trees: Folio's arenas take 1.001s, new 2.002s.",
			"Undecided by 3 runs per arm: folio against new (2.00x); folio against new, cpu (2.00x)."}},
		{"nothing", 0, nil, nil},
	} {
		got := arenasOutcome(tt.rounds, tt.arms).Conclusions()
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, strings.Join(got, "\n     "), strings.Join(tt.want, "\n     "))
		}
	}
}

// An arm that did other work than the others does not count.
func TestAgree(t *testing.T) {
	o := arenasOutcome(2, map[string]map[string]float64{
		"new": {"checksum": 7}, "folio": {"checksum": 8}, "folio-base": {"checksum": 7}, "goarena": {"wall_seconds": 1},
	})
	o.agree()
	for _, a := range o.Arms {
		want := ""
		if a.Arm.Name == "folio" {
			want = "its checksum is 8, that of new 7: they did not do the same work"
		}
		if a.Failure != want {
			t.Errorf("%s: %q, want %q", a.Arm.Name, a.Failure, want)
		}
	}
	if err := o.failure(); err == nil || !strings.Contains(err.Error(), "folio: its checksum") {
		t.Errorf("%v", err)
	}
}
