package metric

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		flag   string
		higher bool
		err    string
	}{
		{flag: "wall"},
		{flag: "cpu"},
		{flag: "ns/op"},
		{flag: "op/s=([0-9.]+) op/s", higher: true},
		{flag: "wall", higher: true, err: "--higher-is-better"},
		{flag: "speed", err: "want wall, cpu, ns/op, with --rate p50, p99, p999 or cpu/request, or NAME=REGEXP"},
		{flag: "x=", err: "want wall"},
		{flag: "x=[0-9]+", err: "put a (group) around the number"},
		{flag: "x=([0-9", err: "error parsing regexp"},
		{flag: "wall=([0-9]+)", err: "is taken"},
		{flag: "a b=([0-9]+)", err: "must not contain spaces"},
	} {
		s, err := Parse(tc.flag, tc.higher)
		switch {
		case tc.err == "" && (err != nil || s.Higher != tc.higher):
			t.Errorf("%q: %+v, %v", tc.flag, s, err)
		case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
			t.Errorf("%q: error %v, want %q", tc.flag, err, tc.err)
		}
	}
}

// A pattern is said as it was typed.
func TestMissingSaysThePattern(t *testing.T) {
	s, err := Parse(`x=(\d+)`, false)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Missing(), `no line of the output matches '(\d+)'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNumber(t *testing.T) {
	for in, want := range map[string]float64{"78940.67": 78940.67, "76,886": 76886, "1,234,567.5": 1234567.5,
		"1.5ms": 0.0015, " 3 ": 3, "1e3": 1000, "-2": -2} {
		if got, err := Number(in); err != nil || got != want {
			t.Errorf("Number(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "NaN", "inf", "1,2", "abc", "1,23,456"} {
		if got, err := Number(in); err == nil {
			t.Errorf("Number(%q) = %v, want an error", in, got)
		}
	}
}

const benchOutput = `goos: linux
pkg: example.org/x
BenchmarkInsert-2   	 3000000	       412.5 ns/op	      48 B/op	       1 allocs/op
BenchmarkInsert-2   	 3000000	       400.5 ns/op	      48 B/op	       1 allocs/op
BenchmarkInsert-2   	 3000000	       500 ns/op	      48 B/op	       1 allocs/op
BenchmarkGet/n=10-2 	10000000	       100 ns/op
BenchmarkNoResult
Benchmarking is fun
PASS
`

func TestCollectBenchmarks(t *testing.T) {
	var c Collector
	// One byte at a time: lines must not depend on how the output was cut.
	if _, err := io.Copy(&c, iotest.OneByteReader(strings.NewReader(benchOutput))); err != nil {
		t.Fatal(err)
	}
	c.Close()
	m := c.Benchmarks()
	for k, want := range map[string]float64{"Insert-2 ns/op": 412.5, "Insert-2 B/op": 48, "Insert-2 allocs/op": 1, "Get/n=10-2 ns/op": 100} {
		if m[k] != want {
			t.Errorf("%s = %v, want %v (all: %v)", k, m[k], want, m)
		}
	}
	if len(m) != 4 {
		t.Errorf("got %v", m)
	}
	if mean, ok := BenchMean(m, nil); !ok || mean < 203 || mean > 203.2 {
		t.Errorf("mean %v %v", mean, ok)
	}
	if _, ok := BenchMean(m, []string{"Insert-2 ns/op", "Gone-2 ns/op"}); ok {
		t.Error("a mean over a benchmark that did not run")
	}
}

func TestCollectPattern(t *testing.T) {
	c := Collector{Pattern: regexp.MustCompile(`([0-9.,]+) op/s`)}
	io.WriteString(&c, "warm 10 op/s\nECDSA-P256 Sign, 78,940 op/s\n")
	io.WriteString(&c, strings.Repeat("x", maxLine+1)+" 5 op/s\nlast 7")
	c.Close()
	if v, ok, err := c.Value(); v != 78940 || !ok || err != nil {
		t.Errorf("got %v %v %v", v, ok, err)
	}
	c = Collector{Pattern: regexp.MustCompile(`speed (\S+)`)}
	io.WriteString(&c, "speed fast\n")
	if _, ok, err := c.Value(); ok || err == nil {
		t.Errorf("no number: %v %v", ok, err)
	}
}

func FuzzCollector(f *testing.F) {
	f.Add([]byte(benchOutput), 7)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		var whole, cuts Collector
		whole.Write(data)
		whole.Close()
		for len(data) > 0 {
			n := min(max(cut, 1), len(data))
			cuts.Write(data[:n])
			data = data[n:]
		}
		cuts.Close()
		a, b := whole.Benchmarks(), cuts.Benchmarks()
		if len(a) != len(b) {
			t.Fatalf("cutting changed the figures: %v, %v", a, b)
		}
		for k, v := range a {
			if b[k] != v && v == v {
				t.Fatalf("%s: %v, %v", k, v, b[k])
			}
		}
	})
}
