package metric

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/cmd/internal/base/stat"
)

// benchmarks are the results of Go benchmarks in a stream that they share with what the program
// prints. A test binary prints the name, then runs the benchmark, and then prints the rest of the
// line: what the program prints meanwhile is between the two, and text without a line end is
// before the name or the rest.
type benchmarks struct {
	values  map[string][]float64
	begun   string // name of the benchmark whose figures have not been seen
	leftOut []string
}

// mostLeftOut bounds what is kept of figures that are left out.
const mostLeftOut = 20

var (
	whole = regexp.MustCompile(`Benchmark\S* *\t *\d+\t.*$`)
	name  = regexp.MustCompile(`Benchmark(\S+) *\t`)
	rest  = regexp.MustCompile(`\d(\t *\S+ \S.*)$`)
	ends  = regexp.MustCompile(`--- (?:FAIL|SKIP): `)
)

// match reads the next line.
func (b *benchmarks) match(line []byte) {
	if bytes.HasPrefix(line, []byte("Benchmark")) && b.whole(line) {
		return
	}
	if at := whole.FindIndex(line); at != nil && b.whole(line[at[0]:]) {
		return
	}
	if m := name.FindSubmatchIndex(line); m != nil {
		b.end()
		b.begun, line = string(line[m[2]:m[3]]), line[m[1]:]
	}
	switch {
	case b.begun == "":
	case ends.Match(line): // it has no result
		b.begun = ""
	default:
		// Text before the count may end in digits: which of these count is not known, nor needed.
		if m := rest.FindSubmatch(line); m != nil {
			b.result(fmt.Appendf(nil, "Benchmark%s 1%s", b.begun, m[1]))
		}
	}
}

// whole takes the figures of a line with the name and the figures of a benchmark: one that begun
// before has no more to come.
func (b *benchmarks) whole(line []byte) bool {
	begun := b.begun
	if !b.result(line) {
		return false
	}
	b.begun = begun
	b.end()
	return true
}

// result takes the figures of a line if it is a result.
func (b *benchmarks) result(line []byte) (found bool) {
	r := benchfmt.NewReader(bytes.NewReader(line), "")
	for r.Scan() {
		res, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue // a benchmark's name on its own, or text
		}
		found, b.begun = true, ""
		for _, v := range res.Values {
			// The reader turns ns into seconds; users know their figures as printed.
			value, unit := v.Value, v.Unit
			if v.OrigUnit != "" {
				value, unit = v.OrigValue, v.OrigUnit
			}
			b.add(res.Name.String()+" "+unit, value)
		}
	}
	return found
}

func (b *benchmarks) add(key string, value float64) {
	if !finite(value) {
		b.leave(fmt.Sprintf("%s is %v", key, value))
		return
	}
	if b.values == nil {
		b.values = make(map[string][]float64)
	}
	b.values[key] = append(b.values[key], value)
}

// end ends the search for the figures of a benchmark that begun.
func (b *benchmarks) end() {
	if b.begun != "" {
		b.leave("the result of " + b.begun + " was cut by the program's own output")
	}
	b.begun = ""
}

func (b *benchmarks) leave(text string) {
	if len(b.leftOut) < mostLeftOut && !slices.Contains(b.leftOut, text) {
		b.leftOut = append(b.leftOut, text)
	}
}

// Benchmarks returns each Go benchmark's figures under "Name-P unit", such as
// "Insert-2 ns/op": the median where a benchmark ran several times (-count).
func (c *Collector) Benchmarks() map[string]float64 {
	if len(c.bench.values) == 0 {
		return nil
	}
	out := make(map[string]float64, len(c.bench.values))
	for k, v := range c.bench.values {
		out[k] = stat.Median(v)
	}
	return out
}

// LeftOut says which figures of benchmarks are not in [Collector.Benchmarks], and why: those that
// are no finite numbers, and results that what the program printed has cut.
func (c *Collector) LeftOut() []string { return c.bench.leftOut }

// finite says that v is a number to calculate with: sums and squares of a few are numbers as well.
func finite(v float64) bool { return v >= -1e150 && v <= 1e150 }

// BenchMean returns the geometric mean of the figures of unit among metrics
// that Benchmarks returned, over the given benchmark keys (all when nil).
func BenchMean(metrics map[string]float64, keys []string) (float64, bool) {
	if keys == nil {
		keys = BenchKeys(metrics)
	}
	var v []float64
	for _, k := range keys {
		x, ok := metrics[k]
		if !ok || x <= 0 {
			return 0, false
		}
		v = append(v, x)
	}
	if len(v) == 0 {
		return 0, false
	}
	return stat.GeoMean(v), true
}

// BenchKeys returns the keys of the ns/op figures, sorted.
func BenchKeys(metrics map[string]float64) []string {
	var keys []string
	for k := range metrics {
		if strings.HasSuffix(k, " "+Bench) {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return keys
}
