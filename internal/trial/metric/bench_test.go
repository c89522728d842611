package metric

import (
	"maps"
	"slices"
	"testing"
)

// Results are found among what the program prints, as go test prints both, and never a wrong
// number.
func TestBenchmarksAmongOutput(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     map[string]float64
		leftOut  []string
	}{
		{"not finite", "BenchmarkInf-2 \t 20\t NaN hit-ratio\t +Inf rows/op\t 5 ns/op\nBenchmarkInf-2 \t 20\t NaN hit-ratio\t -Inf rows/op\t 7 ns/op\n",
			map[string]float64{"Inf-2 ns/op": 6}, []string{"Inf-2 hit-ratio is NaN", "Inf-2 rows/op is +Inf", "Inf-2 rows/op is -Inf"}},
		{"too large to add", "BenchmarkA \t 1\t 1e308 ns/op\n", nil, []string{"A ns/op is 1e+308"}},
		{"text between", "BenchmarkCut-2               \tBenchmark data loaded\n    x.go:1: a log\n      20\t       142.0 ns/op\t 16 B/op\n--- BENCH: BenchmarkCut-2\n",
			map[string]float64{"Cut-2 ns/op": 142, "Cut-2 B/op": 16}, nil},
		{"text without an end", "BenchmarkCut-2               \tBenchmark data loaded\nno newline      20\t       142.0 ns/op\n", map[string]float64{"Cut-2 ns/op": 142}, nil},
		{"text before the name", "no newlineBenchmarkCut-2      \t      20\t       306.9 ns/op\n", map[string]float64{"Cut-2 ns/op": 306.9}, nil},
		{"digits before the count", "BenchmarkCut-2 \tloaded 512345678\t       142.0 ns/op\n", map[string]float64{"Cut-2 ns/op": 142}, nil},
		{"cut", "BenchmarkCut-2 \tgarbage \n20 142.0 ns\nBenchmarkB-2 \t 1\t 2 ns/op\n", map[string]float64{"B-2 ns/op": 2},
			nil},
		{"cut, and the next begins", "BenchmarkCut-2 \tgarbage\nBenchmarkB-2 \tmore\n 1\t 2 ns/op\n", map[string]float64{"B-2 ns/op": 2},
			[]string{"the result of Cut-2 was cut by the program's own output"}},
		{"cut at the end", "BenchmarkCut-2 \tgarbage", nil, []string{"the result of Cut-2 was cut by the program's own output"}},
		{"failed", "BenchmarkZ-2 \t--- FAIL: BenchmarkZ-2\n    z_test.go:45: 20\t 3 ns/op\n", nil, nil},
		{"failed after text", "BenchmarkZ-2 \ttext\n--- FAIL: BenchmarkZ-2\n 20\t 3 ns/op\n", nil, nil},
		{"verbose", "BenchmarkCut\nBenchmark data loaded\nBenchmarkCut-2 \t 20\t 3 ns/op\n", map[string]float64{"Cut-2 ns/op": 3}, nil},
		{"words", "Benchmark data loaded\nBenchmarking\n 20\t 3 ns/op\n", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for step := range 3 {
				var col Collector
				for p := []byte(c.in); len(p) > 0; {
					n := min(len(p), []int{1, 7, len(p)}[step])
					_, _ = col.Write(p[:n])
					p = p[n:]
				}
				col.Close()
				if got := col.Benchmarks(); !maps.Equal(got, c.want) {
					t.Errorf("%v, want %v", got, c.want)
				}
				if got := col.LeftOut(); !slices.Equal(got, c.leftOut) {
					t.Errorf("left out %q, want %q", got, c.leftOut)
				}
			}
		})
	}
}
