package metric

import (
	"fmt"
	"maps"
	"regexp"
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
			[]string{"the result of Cut-2 was cut by the program's own output"}},
		{"cut, and again", "BenchmarkCut-2 \tgarbage\nBenchmarkCut-2 \t 20\t 3 ns/op\n", map[string]float64{"Cut-2 ns/op": 3},
			[]string{"the result of Cut-2 was cut by the program's own output"}},
		{"events", `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"BenchmarkA","Output":"BenchmarkA-2 \t"}
{"Action":"output","Package":"q","Output":"text\nBenchmarkB-2 \t 1\t 7 ns/op\n"}
{"Action":"output","Package":"p","Test":"BenchmarkA","Output":"loaded\n 20\t 5 ns/op\t NaN x/op\n"}
{"Action":"output","Package":"q","Test":"BenchmarkC","Output":"BenchmarkC-2 \t"}
{"Action":"fail","Package":"q","Elapsed":0.032}
{"Action":"output","Package":"p","Test":"BenchmarkD","Output":"BenchmarkD-2 \t 3\t 8 ns/op"}
`, map[string]float64{"A-2 ns/op": 5, "B-2 ns/op": 7, "D-2 ns/op": 8},
			[]string{"the result of C-2 was cut by the program's own output", "A-2 x/op is NaN"}},
		{"events among text", "BenchmarkA-2 \t 1\t 2 ns/op\n{\"Action\":\"output\",\"Output\":\"BenchmarkB-2 \\t 1\\t 3 ns/op\\n\"}\n{\"Action\":1}\n{\"Action\":\"output\"\n",
			map[string]float64{"A-2 ns/op": 2, "B-2 ns/op": 3}, nil},
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

// A pattern matches the text of events of go test -json as it does the events themselves.
func TestPatternInEvents(t *testing.T) {
	for in, want := range map[string]float64{
		`{"Action":"output","Package":"p","Output":"12 op"}` + "\n" + `{"Action":"output","Package":"p","Output":"/s\n"}`: 12,
		`{"Action":"pass","Package":"p","Elapsed":34 op/s}`:                                                               34,
	} {
		c := Collector{Pattern: regexp.MustCompile(`(\d+) op/s`)}
		_, _ = c.Write([]byte(in))
		c.Close()
		if got, ok, err := c.Value(); got != want || !ok || err != nil {
			t.Errorf("%s: %v, %v, %v", in, got, ok, err)
		}
	}
}

// However many packages the events are of, what is kept of them is bounded.
func TestEventsOfManyPackages(t *testing.T) {
	var c Collector
	for i := range 3 * maxPackages {
		fmt.Fprintf(&c, `{"Action":"output","Package":"p%d","Output":"BenchmarkA \t 1\t 2 ns/op\n"}`+"\n", i)
		if len(c.packages) > maxPackages {
			t.Fatalf("%d packages are kept", len(c.packages))
		}
	}
	c.Close()
	if got := c.Benchmarks()["A ns/op"]; got != 2 {
		t.Errorf("%v ns/op", got)
	}
}
