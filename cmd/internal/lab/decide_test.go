package lab

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// curve is an outcome of the pages experiment with so many runs of each arm, by size
// in MiB: latency of base and of huge pages in ns.
func curve(runs int, rows map[uint64][2]float64) *Outcome {
	o := &Outcome{Experiment: pages, Rounds: runs}
	base, thp := &ArmResult{Arm: &Arm{Name: "base"}}, &ArmResult{Arm: &Arm{Name: "thp"}}
	for size := range rows {
		o.Params.Size = max(o.Params.Size, size<<20)
	}
	for run := range runs {
		for i, a := range []*ArmResult{base, thp} {
			s := &trial.Sample{Metrics: map[string]float64{}}
			for size, row := range rows {
				key := fmt.Sprintf("%s/size=%d ", benchmark(pages.Name), size<<20)
				s.Metrics[key+"latency_seconds"] = row[i] * (1 + float64(run)/1000) * 1e-9
				s.Metrics[key+"throughput_seconds"] = 1e-9
				s.Metrics[key+"huge_fraction"] = float64(i)
			}
			a.Samples = append(a.Samples, s)
		}
	}
	o.Arms = []*ArmResult{base, thp}
	return o
}

// The sentence on sizes speaks of all rows, so all rows must bear it out.
func TestReachSpeaksOfAllRows(t *testing.T) {
	little, much := [2]float64{105, 100}, [2]float64{200, 100}
	for _, tt := range []struct {
		name string
		rows map[uint64][2]float64
		want string
	}{
		{"as the source has it", map[uint64][2]float64{1: little, 16: little, 32: much, 1024: much},
			"In latency, huge pages gain less than 10% up to 16MiB, and 10% or more from 32MiB on."},
		{"a small size gains most", map[uint64][2]float64{1: {580, 100}, 16: little, 512: little, 1024: much},
			"In latency, huge pages gain 10% or more at every size from 1GiB on; below, at some."},
		{"a size in between is undecided", map[uint64][2]float64{1: little, 16: {110.2, 100}, 32: much, 1024: much},
			"In latency, huge pages gain less than 10% up to 1MiB, and 10% or more from 32MiB on."},
		{"a small size is undecided", map[uint64][2]float64{1: {110.2, 100}, 32: much, 1024: much},
			"In latency, huge pages gain 10% or more at every size from 32MiB on."},
		{"a large size is undecided", map[uint64][2]float64{1: much, 32: much, 512: {110.2, 100}, 1024: much},
			"In latency, huge pages gain 10% or more at every size from 1GiB on; below, at some."},
		{"the largest is undecided", map[uint64][2]float64{1: little, 1024: {110.2, 100}}, ""},
		{"all", map[uint64][2]float64{1: much, 1024: much}, "In latency, huge pages gain 10% or more at every size."},
		{"none", map[uint64][2]float64{1: little, 1024: {50, 100}}, "In latency, huge pages gain less than 10% at every size."},
		{"the largest does not", map[uint64][2]float64{1: much, 1024: little}, ""},
		{"one size", map[uint64][2]float64{1024: much}, ""},
	} {
		o := curve(6, tt.rows)
		text := strings.Join(o.Conclusions(), "\n")
		if tt.want != "" && !strings.Contains(text, tt.want) || tt.want == "" && strings.Contains(text, "In latency") {
			t.Errorf("%s:\n%s\nwant %s", tt.name, text, tt.want)
		}
		// Whatever is said, no row of the table denies it.
		for size, row := range tt.rows {
			gain := row[0] / row[1]
			if strings.Contains(text, "less than 10% at every size") && gain >= 1.1 ||
				strings.Contains(text, "10% or more at every size.") && gain < 1.1 {
				t.Errorf("%s: %d MiB gains %.2fx: %s", tt.name, size, gain, text)
			}
		}
	}
}

// A sentence needs three runs of each arm it speaks of, and a difference that the runs
// decide; what they do not is named in one line.
func TestSentencesNeedRuns(t *testing.T) {
	rows := map[uint64][2]float64{1: {115, 100}, 1024: {4500, 100}}
	for runs, want := range map[int][]string{
		0: nil,
		1: {"Inconclusive: 1 run per arm. Conclusions take 3, differences between two arms 4 (--rounds)."},
		2: {"Inconclusive: 2 runs per arm. Conclusions take 3, differences between two arms 4 (--rounds)."},
		3: {"Undecided by 3 runs per arm: thp against base (45x); thp against base, independent read (1.00x)."},
		4: {"Random reads of 1GiB with transparent huge pages: 45x as fast when each waits for the one before.",
			"In latency, huge pages gain 10% or more at every size.",
			"Undecided by 4 runs per arm: thp against base, independent read (1.00x)."},
	} {
		o := curve(runs, rows)
		for range 2 { // asked for by the text, and by the file
			if got := o.Conclusions(); !slices.Equal(got, want) {
				t.Errorf("%d runs: %q\nwant %q", runs, got, want)
			}
		}
	}
	// An arm that failed half-way has too few runs; the others are spoken of.
	o := curve(6, rows)
	for _, s := range o.Arms[1].Samples[2:] {
		s.Failure = "exit code 1"
	}
	if got := o.Conclusions(); len(got) != 0 {
		t.Errorf("of two runs: %q", got)
	}
}

// No experiment says anything by one or two runs, nor claims what is undecided.
func TestNoExperimentClaimsWhatIsUndecided(t *testing.T) {
	for _, e := range Experiments() {
		for _, runs := range []int{1, 2, 3, 6} {
			arms := make(map[string]map[string]float64)
			for i, a := range e.Arms(machine(""), e.defaults) {
				arms[a.Name] = map[string]float64{}
				for _, f := range e.Figures {
					arms[a.Name][f.Key] = 1 + float64(i)
				}
			}
			o := outcome(e, runs, arms)
			got := o.Conclusions()
			text := strings.Join(got, "\n")
			switch {
			case runs < fewestRuns && (len(got) != 1 || !strings.HasPrefix(text, "Inconclusive")):
				t.Errorf("%s, %d runs: %s", e.Name, runs, text)
			case strings.Contains(text, "(undecided)"):
				t.Errorf("%s, %d runs: %s", e.Name, runs, text)
			}
			if runs == 3 {
				for _, line := range got {
					if !strings.HasPrefix(line, "Undecided") && (strings.Contains(line, "x as fast") ||
						strings.Contains(line, "x the doc") || strings.Contains(line, "is best") || strings.Contains(line, "pages gain") || strings.Contains(line, "shortest")) {
						t.Errorf("%s: three runs decide nothing: %s", e.Name, line)
					}
				}
			}
		}
	}
}
