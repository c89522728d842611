package ab

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/spelling"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
)

// A Unit says how a figure is printed.
type Unit string

const (
	Seconds  Unit = "seconds"
	Bytes    Unit = "bytes"
	Count    Unit = "count"
	Fraction Unit = "fraction"
	Own      Unit = "own" // the user's
)

// A figure is what samples are compared by.
type figure struct {
	key    string // its JSON key, or its name among the metrics
	unit   Unit
	higher bool // more is better
	get    func(*trial.Sample) (float64, bool)
	pool   func([]*trial.Sample) (float64, bool) // of a pooled figure; else nil

	primary bool
	gated   bool    // a bound names it
	onlyFor bool    // nothing but a bound makes it primary
	target  float64 // the fraction of the base to be seen; of those that are primary
	units   float64 // what is to be seen of a base of 0, by bounds in units; 0 for none

	resolved map[int]bool // by arm: known well enough by a look
}

// names are those of --fail-if for the keys of samples.
var names = map[string]string{
	"wall": "wall_seconds", "user": "user_seconds", "sys": "sys_seconds", "cpu": "cpu_seconds",
	"peak_rss": "peak_rss_bytes", "peak_tree_rss": "peak_tree_rss_bytes",
	"faults": "minor_faults", "gc_pause": "gc_pause_seconds", "gc_pause_max": "gc_pause_max_seconds",
	"gc_cpu": "gc_cpu_seconds", "gc_share": "gc_cpu_fraction", "memory_tax": "memory_tax_fraction",
	metric.P50: "p50_seconds", metric.P99: "p99_seconds", metric.P999: "p999_seconds", metric.CPUPerRequest: "cpu_per_request_seconds",
	"heap_peak": "heap_peak_bytes", "huge_peak": "huge_peak_bytes", "cgroup_peak": "cgroup_peak_bytes", "throttled": "throttled_seconds",
}

// keyOf returns the key of a name, itself where it is one.
func keyOf(name string) (key string, ok bool) {
	if key, ok = names[name]; ok {
		return key, true
	}
	return name, slices.ContainsFunc(trial.Figures, func(f trial.Figure) bool { return f.Key == name })
}

// unitOf tells by the key of a sample what its unit is.
func unitOf(key string) Unit {
	switch {
	case strings.HasSuffix(key, "_seconds"):
		return Seconds
	case strings.HasSuffix(key, "_bytes"):
		return Bytes
	case strings.HasSuffix(key, "_fraction"):
		return Fraction
	}
	return Count
}

// perBench are the figures that say something of a run of Go benchmarks, whose number
// of iterations differs from run to run.
var perBench = []string{"peak_rss_bytes", "peak_tree_rss_bytes", "gc_cpu_fraction", "memory_tax_fraction",
	"heap_peak_bytes", "huge_peak_bytes", "cgroup_peak_bytes"}

// A plan is what is compared.
type plan struct {
	opts    Options
	figures []*figure
}

// newPlan chooses the figures by what the arms showed in the warm-up.
func newPlan(warm []*trial.Sample, opts Options) (*plan, error) {
	p := &plan{opts: opts}
	spec := opts.Metric
	bench := metric.BenchKeys(warm[0].Metrics)
	onlyBench := (spec == nil || spec.Name == metric.Bench) && len(bench) > 0
	for _, f := range trial.Figures {
		if !onlyBench || slices.Contains(perBench, f.Key) {
			one := &figure{key: f.Key, unit: unitOf(f.Key), get: f.Get}
			if f.Pooled {
				one.pool = f.Center
			}
			p.figures = append(p.figures, one)
		}
	}
	for _, key := range common(warm) {
		f := &figure{key: key, unit: Own, get: func(s *trial.Sample) (float64, bool) { v, ok := s.Metrics[key]; return v, ok }}
		f.higher = spec != nil && spec.Name == key && spec.Higher || strings.HasSuffix(key, " MB/s")
		p.figures = append(p.figures, f)
	}
	switch {
	case onlyBench:
		for _, key := range bench {
			if f := p.find(key); f != nil {
				p.decide(f, opts.Detect)
			}
		}
		if !slices.ContainsFunc(p.figures, func(f *figure) bool { return f.primary }) {
			return nil, fmt.Errorf("no Go benchmark is in the output of all: the base has %s", strings.Join(bench, ", "))
		}
	case spec == nil || spec.Name == metric.Wall:
		p.decide(p.find("wall_seconds"), opts.Detect)
	case spec.Name == metric.CPU:
		p.decide(p.find("cpu_seconds"), opts.Detect)
	case spec.OfLoad():
		p.decide(p.find(names[spec.Name]), opts.Detect)
	default:
		f := p.find(spec.Name)
		if f == nil {
			return nil, fmt.Errorf("--metric %s: %s", spec.Name, spec.Missing())
		}
		p.decide(f, opts.Detect)
	}
	for i := range opts.Bounds {
		if err := p.gate(&opts.Bounds[i]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// decide makes a figure one of those that decide.
func (p *plan) decide(f *figure, target float64) {
	if f.primary {
		target = math.Min(target, f.target)
	}
	f.primary, f.target = true, target
}

// gate finds the figure of a bound and lets it decide. A bound that is far away needs
// no more precision than that.
func (p *plan) gate(b *Bound) error {
	f := p.find(b.Key)
	if f == nil {
		if key := p.benchmark(b.Key); key != "" {
			b.Key, f = key, p.find(key)
		}
	}
	if f == nil {
		return &UnknownFigureError{b.Text, b.Key, p.keys()}
	}
	if err := b.fits(f.unit); err != nil {
		return err
	}
	target := p.opts.Detect
	if !b.Absolute {
		target = math.Max(target, math.Abs(b.Value)/2)
	}
	if b.Absolute && (f.units == 0 || math.Abs(b.Value)/2 < f.units) {
		f.units = math.Abs(b.Value) / 2
	}
	f.gated, f.onlyFor = true, f.onlyFor || !f.primary
	p.decide(f, target)
	return nil
}

// An UnknownFigureError says that a bound names a figure that there is none of.
type UnknownFigureError struct {
	Text, Name string
	Have       []string
}

func (e *UnknownFigureError) Error() string {
	if near := spelling.Nearest(e.Name, e.Have); near != "" {
		return fmt.Sprintf("--fail-if %q: no figure %q: did you mean %s?", e.Text, e.Name, near)
	}
	return fmt.Sprintf("--fail-if %q: no figure %q: want one of %s", e.Text, e.Name, strings.Join(e.Have, ", "))
}

// keys lists the names that a bound may have.
func (p *plan) keys() []string {
	var out []string
	for _, f := range p.figures {
		name := f.key
		for short, key := range names {
			if key == f.key {
				name = short
			}
		}
		out = append(out, name)
	}
	return out
}

// benchmark returns the key of a Go benchmark that is named without its unit (ns/op)
// or the number of CPUs; "" for none.
func (p *plan) benchmark(name string) string {
	name = strings.TrimPrefix(name, "Benchmark")
	base, unit, ok := strings.Cut(name, " ")
	if !ok {
		unit = metric.Bench
	}
	for _, f := range p.figures {
		own, has, ok := strings.Cut(f.key, " ")
		if !ok || has != unit {
			continue
		}
		if i := strings.LastIndexByte(own, '-'); own == base || i > 0 && own[:i] == base && number(own[i+1:]) {
			return f.key
		}
	}
	return ""
}

func number(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (p *plan) find(key string) *figure {
	for _, f := range p.figures {
		if f.key == key {
			return f
		}
	}
	return nil
}

// common returns the names of the metrics that all samples have, in order.
func common(samples []*trial.Sample) []string {
	var out []string
	for key := range samples[0].Metrics {
		if !slices.ContainsFunc(samples, func(s *trial.Sample) bool { _, ok := s.Metrics[key]; return !ok }) {
			out = append(out, key)
		}
	}
	sort.Strings(out)
	return out
}

// pairs returns a figure of two arms, of the rounds in which both have it.
func (f *figure) pairs(base, arm *trial.Arm) (x, y []float64) {
	at := make(map[int]float64)
	for _, s := range base.Samples {
		if v, ok := f.value(s); ok {
			at[s.Round] = v
		}
	}
	for _, s := range arm.Samples {
		if v, ok := f.value(s); ok {
			if b, both := at[s.Round]; both {
				x, y = append(x, b), append(y, v)
			}
		}
	}
	return x, y
}

func (f *figure) value(s *trial.Sample) (float64, bool) {
	if !s.OK() {
		return 0, false
	}
	v, ok := f.get(s)
	return v, ok && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// A comparison is a figure of an arm against that of the base: by ratios, or, of shares
// and where one of the values is 0, by differences alone.
type comparison struct {
	f           *figure
	base        []float64
	middle, arm float64 // the one figure of the base, and of the arm
	ratio       stat.Paired
	differ      stat.Differences
	byUnit      bool // ratios say nothing
	negative    bool // a value of it is below 0
}

// compare has no pairs where the one figure of an arm is not known.
func (f *figure) compare(base, arm *trial.Arm) comparison {
	x, y := f.pairs(base, arm)
	c := comparison{f: f}
	var ok, both bool
	if c.middle, ok = f.middle(base, x); ok {
		c.arm, both = f.middle(arm, y)
	}
	if !ok || !both {
		return c
	}
	c.base, c.differ = x, stat.PairDifferences(x, y)
	least := min(slices.Min(x), slices.Min(y))
	c.negative, c.byUnit = least < 0, f.unit == Fraction || least <= 0
	if !c.byUnit {
		c.ratio = stat.ComparePairs(x, y)
	}
	return c
}

// middle is the one figure of an arm: of a pooled figure, such as a percentile of
// requests or a share of CPU samples, that of all its runs together; else the median of
// values, those of its runs that are compared.
func (f *figure) middle(arm *trial.Arm, values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	if f.pool != nil {
		return f.pool(arm.Samples)
	}
	return stat.Median(values), true
}

func (c comparison) n() int { return len(c.base) }

func (c comparison) p() float64 {
	if c.byUnit {
		return c.differ.P
	}
	return c.ratio.P
}

func (c comparison) differs(alpha float64) bool {
	if c.byUnit {
		return c.differ.Differs(alpha)
	}
	return c.ratio.Differs(alpha)
}

// seen returns the fraction of the base that would be found. That of a difference which
// was found may go by what is left without it.
func (c comparison) seen(alpha float64, found bool) float64 {
	if found {
		return math.Min(c.blind(alpha), c.noise(alpha))
	}
	return c.blind(alpha)
}

// blind returns the fraction of the base that is seen, by the sizes of the differences
// alone; noise by the width of the interval; known is to what fraction of the base the
// difference is known. They are infinite where the base is 0, unless nothing ever
// differed.
func (c comparison) blind(alpha float64) float64 {
	if c.byUnit {
		return c.fraction(c.differ.Detectable(alpha))
	}
	return math.Expm1(c.ratio.Detectable(alpha))
}

func (c comparison) noise(alpha float64) float64 {
	if c.byUnit {
		return c.fraction(c.differ.Known(alpha))
	}
	return math.Expm1(c.ratio.Known(alpha))
}

func (c comparison) known(alpha float64) float64 {
	if c.byUnit {
		return c.noise(alpha)
	}
	return c.noise(alpha) * c.ratio.Ratio
}

// zero says that the base is 0: only what bounds in units ask for can be known of it.
func (c comparison) zero() bool { return c.byUnit && c.middle <= 0 && c.f.onlyFor }

// isSeen says whether what would be found is little enough, isKnown whether a plain
// difference is known well enough.
func (c comparison) isSeen(alpha float64) bool {
	if c.zero() {
		return c.f.units == 0 || c.differ.Detectable(alpha) <= c.f.units
	}
	return c.blind(alpha) <= c.f.target
}

func (c comparison) isKnown(alpha float64) bool {
	if c.zero() {
		return c.differ.Known(alpha) <= c.f.units
	}
	return c.known(alpha) <= c.enough()
}

// enough is the fraction of the base that must be seen of a figure whose difference is
// plain: of a large one, a tenth of it, unless a bound may lie in what is left.
func (c comparison) enough() float64 {
	if c.f.gated || c.byUnit {
		return c.f.target
	}
	return math.Max(c.f.target, math.Abs(c.ratio.Ratio-1)/10)
}

func (c comparison) fraction(v float64) float64 {
	if m := c.middle; m > 0 || v == 0 {
		return v / math.Max(m, math.SmallestNonzeroFloat64)
	}
	return math.Inf(1)
}
