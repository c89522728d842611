package resulttest

import (
	"slices"
	"strconv"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

// Search is a search over so many settings, with a race of 3 rounds and a final of
// so many, its runs numbered in their order; the last setting but one has failed runs.
func Search(settings, rounds int) *result.File {
	f := Tune(0, "./prog", "-n", "5")
	f.RaceRounds, f.Rounds, f.Arms, f.Recommendations = 3, 3+rounds, nil, nil
	next := 0
	walls := make([]float64, settings)
	for i := range settings {
		set := trial.Setting{}
		if i > 0 {
			set.GOGC = strconv.Itoa(50 * (i + 1))
		}
		walls[i] = 2 - float64(i%12)*0.07
		f.Arms = append(f.Arms, result.Arm{Name: set.String(), Setting: result.NewSetting(set), Status: string(tune.Finalist)})
	}
	for round := range 3 + rounds {
		for k := range settings {
			i := (k*7 + round*3) % settings // another order in each round
			a := &f.Arms[i]
			if round >= 3 && i >= (settings+1)/2 {
				continue // dropped early
			}
			next++
			drift := 1 + 0.1*float64(round)/float64(3+rounds)
			s := Sample(round+1, walls[i]*drift*(1+float64(next*37%19-9)/150), uint64(100+12*i)<<20+uint64(next%7)<<18)
			s.Sequence = next
			if i == settings-2 && round == 1 {
				s.Failure = "exit code 3"
			}
			a.Samples = append(a.Samples, s)
		}
	}
	for i := range f.Arms {
		a := &f.Arms[i]
		final := slices.DeleteFunc(slices.Clone(a.Samples), func(s *trial.Sample) bool { return s.Round <= 3 })
		mem := float64(100+12*i) * (1 << 20)
		if len(final) == 0 {
			final = a.Samples
			a.Status, a.Left = string(tune.Early), &tune.Left{Rounds: 3, AtLeast: 1.1, SlowerThan: "GOGC=400", About: walls[i]}
		} else {
			ratio := walls[i] / walls[0]
			a.Final = &tune.Final{Rank: i + 1, N: rounds, Adjusted: walls[i], Memory: new(mem), Front: true}
			if i > 0 {
				a.Final.Ratio = &tune.Estimate{N: rounds, Ratio: ratio, Lo: new(ratio * 0.99), Hi: new(ratio * 1.01), P: 0.01, Different: true}
				a.Final.MemoryRatio = &tune.Estimate{N: rounds, Ratio: mem / (100 << 20), Lo: new(mem / (100 << 20) * 0.99), Hi: new(mem / (100 << 20) * 1.01), P: 0.01, Different: true}
			}
		}
		a.Summary, a.Measured = result.Summarize(final), f.Metric.Measured(final)
	}
	return f
}

// Fail makes the last samples of an arm those of failed runs.
func Fail(a *result.Arm, from int) {
	for _, s := range a.Samples[from:] {
		s.Failure, s.ExitCode = "exit code 3", new(3)
	}
	a.Summary = result.Summarize(a.Samples)
}
