package result_test

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
)

// Whatever a program prints, the file of its runs is written, and is read again.
func FuzzAnyOutput(f *testing.F) {
	for _, s := range []string{
		"BenchmarkInf-2 \t 20\t NaN hit-ratio\t +Inf rows/op\t 5 ns/op\n",
		"BenchmarkA 1 1e308 ns/op\nBenchmarkA 1 1e308 ns/op\n", "BenchmarkA 1 -1e150 x\nBenchmarkA 1 1e150 x\n",
		"BenchmarkA-2 \ttext\n 20\t 0x1p1000 ns/op", "Benchmark\xff 1 1 \xff\xfe", "v=1e999\nv=NaN", "v=1e200", "v=infinity", "v=9000000000h",
	} {
		f.Add(s)
	}
	spec, err := metric.Parse("v=v=(.*)", false)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, out string) {
		var samples []*trial.Sample
		for _, text := range []string{out, "v=1\nBenchmarkA 1 1 ns/op\n", out + "\n" + out} {
			c := metric.Collector{Pattern: spec.Pattern}
			_, _ = c.Write([]byte(text))
			c.Close()
			s := &trial.Sample{Round: 1, Sequence: len(samples) + 1, Wall: 1, Metrics: c.Benchmarks(), LeftOut: c.LeftOut(), ExitCode: new(0)}
			if v, ok, _ := c.Value(); ok {
				if s.Metrics == nil {
					s.Metrics = make(map[string]float64)
				}
				s.Metrics[spec.Name] = v
			}
			samples = append(samples, s)
		}
		file := &result.File{Header: result.NewHeader(result.Schema, result.KindRun, "v1"), Rounds: len(samples), Metric: result.NewTarget(spec, nil),
			Arms: []result.Arm{{Name: "default", Samples: samples, Summary: result.Summarize(samples)}}, Notes: []string{}}
		data, err := file.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := result.Read("f.json", data); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
	})
}
