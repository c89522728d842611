package report

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

// Settings that were not tried keep an answer from being conclusive, and are counted in it.
func TestAnswerSaysWhatWasNotTried(t *testing.T) {
	f := &result.File{Metric: &result.Target{Name: "wall"}, Rounds: 10,
		Arms: []result.Arm{{Name: "default", Final: &result.Final{}}, {Name: "GOGC=400", Setting: result.Setting{GOGC: new("400")}, Final: &result.Final{}}}}
	f.Program.Command = []string{"./prog"}
	for _, tt := range []struct {
		arm         string
		answer      tune.Answer
		first, open string
	}{
		{"default", tune.Answer{Untried: 14, Missing: 100, Try: "--budget 3m"},
			"Inconclusive: no setting is known to be better than the default.",
			"14 settings not tried; --budget 3m would probably do."},
		{"GOGC=400", tune.Answer{Untried: 1, Missing: 100, Try: "--budget 3m"}, "Set GOGC=400.",
			"Better than the default, not known to be the best: 1 setting not tried; --budget 3m would probably do."},
		{"default", tune.Answer{Untried: 14, Rounds: 8, UpTo: 0.05, Missing: 100, Try: "--budget 3m"},
			"Inconclusive: no setting is known to be better than the default.",
			"Up to 5.0% better is still possible, and 14 settings not tried; --budget 3m would probably do."},
		{"default", tune.Answer{Rounds: 1e4, Missing: 1e6, UpTo: 0.05}, "Inconclusive: no setting is known to be better than the default.",
			"Up to 5.0% better is still possible; the machine is too noisy to decide within an hour: stop what else runs on it."},
		{"default", tune.Answer{Untried: 14, Rounds: 1e4, Missing: 1e6, UpTo: 0.05, Try: "--budget 3m"}, "Inconclusive: no setting is known to be better than the default.",
			"Up to 5.0% better is still possible, and 14 settings not tried; the machine is too noisy to decide within an hour: stop what else runs on it. To try all settings, which alone decides nothing: --budget 3m."},
		{"default", tune.Answer{Rounds: 40, Missing: 3000, UpTo: 0.05, Try: "--budget 1h", ByCPU: &tune.CPUChange{Arm: "GOGC=400",
			Ratio: &tune.Estimate{N: 10, Ratio: 0.83, Lo: new(0.79), Hi: new(0.88), Different: true}}}, "Inconclusive: no setting is known to be better than the default.",
			"Up to 5.0% better is still possible; --budget 1h would probably do."},
		{"default", tune.Answer{Untried: 14, Missing: 1e6}, "Inconclusive: no setting is known to be better than the default.",
			"14 settings not tried; a search of all takes more than an hour."},
	} {
		tt.answer.State = tune.Inconclusive
		f.Answer, f.Recommendations = &tt.answer, []result.Recommendation{{Goal: tune.Fastest, Arm: tt.arm}}
		f.Recommendations[0].Setting.GOGC = nil
		if tt.arm != "default" {
			f.Recommendations[0].Setting.GOGC = new("400")
		}
		said, open := Answers(f)
		if !strings.HasPrefix(said[0].Set, tt.first) || open != tt.open {
			t.Errorf("%q, %q\nwant %q, %q", said[0].Set, open, tt.first, tt.open)
		}
		if by := said[len(said)-1]; (tt.answer.ByCPU != nil) != (by.Goal == byCPU) || by.Goal == byCPU && (by.Set != "GOGC=400" ||
			by.Figure != "-17.0%" || by.Gain != "CPU time -17.0% [-21.0%, -12.0%]" || by.Line != "GOGC=400 ./prog") {
			t.Errorf("%+v", by)
		}
	}
}

// Memory that was still growing is said to be, and not compared as if it were all.
func TestAnswerOfGrowingMemory(t *testing.T) {
	grows := []*trial.Sample{{Growing: true, PeakRSS: new(uint64(63 << 20))}}
	f := &result.File{Metric: &result.Target{Name: "cpu"}, Rounds: 10, Answer: &tune.Answer{State: tune.Conclusive},
		Recommendations: []result.Recommendation{{Goal: tune.Fastest, Arm: "GOGC=400", Ratio: &tune.Estimate{N: 10, Ratio: 0.8, Different: true}}},
		Arms: []result.Arm{{Name: "default", Samples: []*trial.Sample{{}}, Final: &result.Final{Memory: new(66. * (1 << 20))}},
			{Name: "GOGC=400", Samples: grows, Final: &result.Final{Memory: new(63. * (1 << 20))}}}}
	said, _ := Answers(f)
	if want := "peak RSS still growing: 63.00MiB so far, default 66.00MiB"; said[0].Cost != want || len(said[0].Notes) == 0 ||
		said[0].Notes[0] != "Fewer than two GC cycles ended under load: what memory it takes shows with a longer load." {
		t.Errorf("%q, %q", said[0].Cost, said[0].Notes)
	}
	f.Recommendations[0].Arm, f.Arms[0].Samples = "default", grows
	if said, _ = Answers(f); said[0].Gain != "CPU time 0s, peak RSS 66.00MiB and still growing" {
		t.Errorf("%q", said[0].Gain)
	}
	if got := Peak(&f.Arms[1], 63<<20); got != "63.00MiB+" || !AnyGrowing(f) {
		t.Errorf("%q", got)
	}
}
