package text

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/lab"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/gobench"
)

// labOf is a result of an experiment in which some arms have figures, the same in
// all rounds.
func labOf(t *testing.T, name string, rounds int, arms map[string]map[string]float64) *lab.Result {
	t.Helper()
	e, err := lab.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	p := lab.Params{Size: 1 << 10, Count: 1, Rounds: rounds}
	o := &lab.Outcome{Experiment: e, Params: p, Rounds: rounds, Complete: true}
	for _, a := range e.Arms(&lab.Machine{}, p) {
		r := &lab.ArmResult{Arm: a}
		for range rounds {
			m := make(map[string]float64)
			for k, v := range arms[a.Name] {
				m[fmt.Sprintf("%s/size=1024 %s", strings.ToUpper(name[:1])+name[1:], k)] = v
			}
			if len(m) > 0 {
				r.Samples = append(r.Samples, &trial.Sample{Metrics: m})
			}
		}
		o.Arms = append(o.Arms, r)
	}
	return &lab.Result{Outcomes: []*lab.Outcome{o}}
}

func textOfLab(t *testing.T, r *lab.Result) string {
	t.Helper()
	f := &result.Lab{Host: testHost()}
	f.Keep(r)
	document.SetLabNotes(f, nil)
	var b, again bytes.Buffer
	if err := show(&b, f, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	// A saved result shows what the lab showed.
	if err := show(&again, savedAgain(t, f), Options{Full: true}); err != nil || again.String() != b.String() {
		t.Errorf("read back, %v:\n%s\nnot\n%s", err, again.String(), b.String())
	}
	return b.String()
}

// Benchmarks have a row each, an arm beside the base, as benchstat has them.
func TestLabAcross(t *testing.T) {
	r := labOf(t, "malloc", 6, map[string]map[string]float64{
		"stock":          {"malloc8_seconds": 20e-9, "malloc16_seconds": 40e-9},
		"heap-hugepages": {"malloc8_seconds": 10e-9, "malloc16_seconds": 40e-9, "noscan32_seconds": 1},
	})
	want := `
  heap-hugepages against stock
  benchmark    stock  interval  heap-hugepages  interval          vs stock  n
  Malloc8    20.00ns      ± 0%         10.00ns      ± 0%  -50.0% (p=0.002)  6
  Malloc16   40.00ns      ± 0%         40.00ns      ± 0%       ~ (p=1.000)  6
  geomean    28.28ns                   20.00ns                      -29.3%
`
	text := textOfLab(t, r)
	if words := strings.Join(strings.Fields(text), " "); !strings.Contains(words, strings.Join(strings.Fields(want), " ")) {
		t.Errorf("%s\nwant %s", text, want)
	}
	f := &result.Lab{}
	f.Keep(r)
	data, err := gobench.Text(gobench.Lab(f))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "BenchmarkMalloc8 1 "); n != 12 ||
		strings.Count(string(data), "BenchmarkNoScan32 1 ") != 6 || strings.Contains(string(data), "size=") {
		t.Errorf("%d results of Malloc8:\n%s", n, data)
	}
	// The base alone has its figures, too.
	text = textOfLab(t, labOf(t, "malloc", 1, map[string]map[string]float64{"stock": {"malloc8_seconds": 20e-9}}))
	if !strings.Contains(text, "  stock\n  benchmark  ") || !strings.Contains(text, "  Malloc8    20.00ns") ||
		strings.Contains(text, "vs stock") {
		t.Error(text)
	}
	if text = textOfLab(t, labOf(t, "malloc", 0, nil)); strings.Contains(text, "  benchmark") {
		t.Error(text)
	}
}

// Arms that are compared with one of them have a column for it.
func TestLabAgainst(t *testing.T) {
	r := labOf(t, "index", 6, map[string]map[string]float64{
		"stock": {"op_seconds": 10}, "auto": {"op_seconds": 5}, "gogc-200": {"documents_per_second": 100},
	})
	text := strings.Join(strings.Fields(textOfLab(t, r)), " ")
	for _, want := range []string{" interval of the first sec/op vs stock runs stock 10.00s ", " 10.00s to 10.00s 6 auto 5.000s ",
		" 5.000s to 5.000s -50.0% (p=0.002) 6 "} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, textOfLab(t, r))
		}
	}
	r = labOf(t, "index", 2, map[string]map[string]float64{"stock": {"op_seconds": 10}, "auto": {"op_seconds": 5}})
	if text := textOfLab(t, r); !strings.Contains(text, "~ (p=0.333) ") ||
		!strings.Contains(text, "telling a difference takes at least 4 runs of each") {
		t.Error(text)
	}
	r = labOf(t, "index", 2, map[string]map[string]float64{"auto": {"op_seconds": 5}})
	if text := textOfLab(t, r); strings.Contains(text, "vs stock") {
		t.Error(text)
	}
}
