// Package metric finds figures in what a program prints: the Go benchmark
// format by itself, anything else with a regular expression.
package metric

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Wall and CPU are the names of the metrics that need no output: the time that
// the program took, and the CPU time that it used.
const (
	Wall = "wall"
	CPU  = "cpu"
	// Bench is the geometric mean over the ns/op of all Go benchmarks.
	Bench = "ns/op"
)

// Metrics of a load that folio generates: percentiles of the latency in seconds, and the
// CPU seconds of the server for each request that succeeded.
const (
	P50           = "p50"
	P99           = "p99"
	P999          = "p999"
	CPUPerRequest = "cpu/request"
)

// CPUPerGiB is the metric of a process that ran already: its CPU seconds for each GiB that it
// allocates, which measures its work whatever the GC is set to.
const CPUPerGiB = "cpu/GiB"

// known are the metrics that need no pattern.
var known = []string{Wall, CPU, Bench, P50, P99, P999, CPUPerRequest}

// OfLoad says that the metric is one of a load that folio generates.
func (s *Spec) OfLoad() bool { return s.Pattern == nil && IsOfLoad(s.Name) }

// Tail says that the metric is the tail of a load's latency.
func (s *Spec) Tail() bool { return s.Pattern == nil && (s.Name == P99 || s.Name == P999) }

// Margin is by what part of the cost another setting may at most be better for an answer to be
// conclusive. The tail of a load differs by tens of percent from run to run: to exclude 3%
// takes hundreds of runs.
func (s *Spec) Margin() float64 {
	if s.Tail() {
		return 0.1
	}
	return 0.03
}

// IsOfLoad says that a metric without a pattern is one of a load.
func IsOfLoad(name string) bool { return slices.Contains(known[3:], name) }

// A Spec is what to optimize.
type Spec struct {
	Name string // wall, cpu, ns/op, or the user's name for the figure
	// Pattern finds the figure in a line of output: its first group is the
	// number. Nil for the metrics that Folio knows by itself.
	Pattern *regexp.Regexp
	// Higher says that more is better (operations per second).
	Higher bool
}

// Parse reads a --metric flag: "wall", "cpu", "ns/op", one of a load, or "NAME=REGEXP", where
// REGEXP is a regular expression (Go syntax) with a group around the number.
func Parse(flag string, higher bool) (*Spec, error) {
	if slices.Contains(known, flag) {
		if higher {
			return nil, fmt.Errorf("--higher-is-better: more %s is never better; use it with --metric 'NAME=REGEXP'", flag)
		}
		return &Spec{Name: flag}, nil
	}
	name, pattern, ok := strings.Cut(flag, "=")
	if !ok || name == "" || pattern == "" {
		return nil, fmt.Errorf("--metric '%s': want wall, cpu, ns/op, with --rate p50, p99, p999 or cpu/request, or NAME=REGEXP, such as 'op/s=([0-9.,]+) op/s'", flag)
	}
	if name == Wall || name == CPU || name == Bench {
		return nil, fmt.Errorf("--metric '%s': the name %s is taken; choose another", flag, name)
	}
	if strings.ContainsAny(name, " \t") {
		return nil, fmt.Errorf("--metric '%s': the name is used as a unit and must not contain spaces", flag)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("--metric '%s': %w", flag, err)
	}
	if re.NumSubexp() < 1 {
		return nil, fmt.Errorf("--metric '%s': put a (group) around the number", flag)
	}
	return &Spec{Name: name, Pattern: re, Higher: higher}, nil
}

// Missing says why a program's output has no figure for the spec.
func (s *Spec) Missing() string {
	switch {
	case s.OfLoad():
		return "only a load by --rate has it"
	case s.Pattern == nil:
		return "the output has no Go benchmark result with " + s.Name
	}
	return fmt.Sprintf("no line of the output matches '%s'", s.Pattern)
}

// maxLine bounds the memory that a program without line ends can cost.
const maxLine = 1 << 20

// A Collector reads output as it comes, line by line, and keeps figures only.
// It is an io.Writer; a stream of output each has its own. The zero Collector
// collects Go benchmarks.
type Collector struct {
	// Pattern is looked for in every line, too. The last match counts: load
	// generators print their summary last.
	Pattern *regexp.Regexp

	line    []byte
	skip    bool // the rest of a line that was too long
	value   float64
	matched bool
	bad     string
	bench   benchmarks

	nested   bool                  // reads what a package printed
	packages map[string]*Collector // what go test -json says that tests printed, by their packages
}

// Write takes the next piece of output. It never fails.
func (c *Collector) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			c.hold(p)
			break
		}
		c.hold(p[:i])
		c.endLine()
		p = p[i+1:]
	}
	return n, nil
}

// Close ends the last line. The figures are complete after it.
func (c *Collector) Close() error {
	if len(c.line) > 0 || c.skip {
		c.endLine()
	}
	for _, p := range slices.Sorted(maps.Keys(c.packages)) {
		c.endPackage(p)
	}
	c.bench.end()
	return nil
}

func (c *Collector) hold(p []byte) {
	if c.skip || len(c.line)+len(p) > maxLine {
		c.skip = true
		return
	}
	c.line = append(c.line, p...)
}

func (c *Collector) endLine() {
	if !c.skip {
		c.match(c.line)
	}
	c.line, c.skip = c.line[:0], false
}

func (c *Collector) match(line []byte) {
	if c.Pattern != nil {
		if m := c.Pattern.FindSubmatch(line); m != nil {
			if v, err := Number(string(m[1])); err == nil {
				c.value, c.matched = v, true
			} else {
				c.bad = string(m[1])
			}
		}
	}
	if c.nested || !c.event(line) {
		c.bench.match(line)
	}
}

// Value returns what Pattern matched last. The error says when it matched
// something that is not a number.
func (c *Collector) Value() (float64, bool, error) {
	if !c.matched && c.bad != "" {
		return 0, false, fmt.Errorf("the group matched %q, which is not a number", c.bad)
	}
	return c.value, c.matched, nil
}

// Number reads a figure as programs print it: 1234.5, 1e9, 76,886, or a
// duration such as 1.25ms, which becomes seconds.
func Number(s string) (float64, error) {
	s = strings.TrimSpace(s)
	plain := s
	if grouped.MatchString(s) {
		plain = strings.ReplaceAll(s, ",", "")
	}
	if v, err := strconv.ParseFloat(plain, 64); err == nil {
		if !finite(v) {
			return 0, errors.New("not a finite number")
		}
		return v, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return d.Seconds(), nil
}

var grouped = regexp.MustCompile(`^[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?$`)
