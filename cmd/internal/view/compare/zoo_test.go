package compare

import (
	"strings"
	"testing"
)

// What go test prints among results is passed over with a note, as benchstat does, and so is
// what is not a finite number; with -json or without.
func TestReadsWhatGoTestPrints(t *testing.T) {
	const text = "pkg: p\nBenchmark data loaded\nBenchmarkA \t 20\t 5 ns/op\t NaN hit-ratio\t +Inf rows/op\nBenchmarkB \tmore text\n"
	const events = `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"pkg: p\n"}
{"Action":"output","Package":"q","Output":"pkg: q\nBenchmarkA \t"}
{"Action":"output","Package":"p","Test":"BenchmarkA","Output":"Benchmark data loaded\nBenchmarkA \t"}
{"Action":"output","Package":"q","Output":" 1\t 7 ns/op\n"}
{"Action":"output","Package":"p","Test":"BenchmarkA","Output":" 20\t 5 ns/op\t NaN hit-ratio\t +Inf rows/op\n"}
{"Action":"fail","Package":"p","Elapsed":0.032}
`
	for name, data := range map[string]string{"old.txt": text, "new.json": events} {
		s, err := Read(name, []byte(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(s.passed) == 0 || strings.Join(s.leftOut, "; ") != "A hit-ratio is NaN; A rows/op is +Inf" || len(s.rows) == 0 {
			t.Errorf("%s: passed over %v, left out %q, rows %v", name, s.passed, s.leftOut, s.rows)
		}
		c, err := Compare(s, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(c.Notes.Texts(), "\n"); !strings.Contains(notes, name+":2: passed over: it begins with Benchmark") || !strings.Contains(notes, name+": left out: A hit-ratio is NaN") {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
	for _, data := range []string{`{"schema":"x"}`, `{"Action":1}`, "", "\n", `{"Action":"output"}` + "\nBenchmarkA 1 1 ns/op\n"} {
		if got := Plain([]byte(data)); string(got) != data {
			t.Errorf("%q became %q", data, got)
		}
	}
}
