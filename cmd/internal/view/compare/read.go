package compare

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/gobench"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/base/unit"
)

// A Set is all measurements of a file.
type Set struct {
	Name    string
	rows    []key
	values  map[key][]float64
	pooled  map[key]float64     // what all runs have together, of a figure that has no median
	ended   string              // how the measurement was not completed: " (reason)", " yet"; "" where it was
	partial map[key]bool        // without unit: a GC trace was seen in part
	config  map[string][]string // values of each configuration key, in order
	higher  map[string]bool     // units of which more is better
	arms    []string
	names   []string
	once    bool // a snapshot: single looks, which no test can compare
	whole   bool // parts of a whole: what is not named is 0
	rules   []string
	doctor  bool

	redacted bool
	unsaid   []string                // facts that were left out
	passed   []*benchfmt.SyntaxError // lines that look like results and are none
	leftOut  []string                // figures that are no finite numbers

	kind    string // of a result; "" for a benchmark file
	created time.Time
	target  *result.Target // nil: none was named
	about   []fact
}

// A key says what was measured.
type key struct{ name, arm, unit string }

// armKeys are the configuration keys that tell arms of one program apart; what
// else is in a configuration says where it was measured.
var armKeys = append([]string{"pkg", "arm"}, settingKeys...)

var settingKeys = append(result.GoKeys(), "build", "thp")

func newSet(name string) *Set {
	return &Set{Name: name, values: make(map[key][]float64), pooled: make(map[key]float64), partial: make(map[key]bool), config: make(map[string][]string), higher: make(map[string]bool)}
}

// IsResult says that data is meant as a result of folio, not in the Go benchmark format.
func IsResult(data []byte) bool {
	trimmed := bytes.TrimSpace(data)
	return len(trimmed) > 0 && trimmed[0] == '{'
}

// Plain returns what a program printed of which data is a record by go test -json, a package
// after the other, and other data as it is.
func Plain(data []byte) []byte {
	var packages []string
	printed := make(map[string]*bytes.Buffer)
	for line := range bytes.Lines(data) {
		var event struct{ Action, Package, Output string }
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if json.Unmarshal(line, &event) != nil || event.Action == "" {
			return data
		}
		if printed[event.Package] == nil {
			printed[event.Package] = &bytes.Buffer{}
			packages = append(packages, event.Package)
		}
		printed[event.Package].WriteString(event.Output)
	}
	if packages == nil {
		return data
	}
	var all []byte
	for _, p := range packages {
		all = append(all, printed[p].Bytes()...)
	}
	return all
}

// Read reads a result of folio (JSON), or a file in the Go benchmark format, as go test prints it,
// with -json or without.
func Read(name string, data []byte) (*Set, error) {
	data = Plain(data)
	if IsResult(data) {
		r, err := result.Read(name, data)
		if err != nil {
			return nil, err
		}
		return NewSet(r)
	}
	s := newSet(name)
	if err := s.bench(data); err != nil {
		return nil, err
	}
	if len(s.rows) == 0 {
		return nil, fmt.Errorf("%s: neither a result of folio nor Go benchmark results: there is no measurement in it", name)
	}
	s.configured()
	return s, nil
}

// NewSet returns the measurements of a result.
func NewSet(r *result.Result) (*Set, error) {
	s := newSet(r.Name)
	s.facts(r)
	var own []*benchfmt.Result
	var err error
	switch f := r.Of.(type) {
	case *result.File:
		if err = s.measured(f); err != nil {
			return nil, err
		}
		if m := f.Metric; m != nil && m.Higher {
			s.higher[m.Name] = true
		}
	case *result.Lab:
		own = gobench.Lab(f)
	case *result.Inspect:
		s.inspect(f)
	case *result.Charge:
		s.charge(f)
	case *result.AB:
		return nil, fmt.Errorf("%s: a result of folio ab is a comparison itself: show it with folio report %s -o FILE.html", s.Name, s.Name)
	case *result.Suggest:
		return nil, fmt.Errorf("%s: advice is not compared: measure the change with folio run --json", r.Name)
	case *result.Doctor:
		s.doctor = true
		for _, h := range f.Findings {
			s.rules = append(s.rules, h.Rule+": "+h.What)
		}
	case *result.Collapse:
		return nil, fmt.Errorf("%s: a collapse is not compared: folio report %s shows it", r.Name, r.Name)
	case *result.Load:
		return nil, fmt.Errorf("%s: loads are not compared: folio report shows each, and runs of one load together", r.Name)
	case *result.Sites:
		return nil, fmt.Errorf("%s: heap profiles are compared by folio inspect --diff, of the files of --heap", r.Name)
	}
	for _, b := range own {
		if err == nil {
			err = s.result(b)
		}
	}
	if s.kind == result.KindAttach {
		s.perSecond()
	}
	if err == nil && len(s.rows) == 0 && !s.doctor {
		err = fmt.Errorf("%s: no measurement in it counts", r.Name)
	}
	return s, err
}

// measured adds the samples of run or tune.
func (s *Set) measured(f *result.File) error {
	for i := range f.Arms {
		samples := f.Arms[i].Samples
		for n, b := range gobench.Arm(f, i) {
			if err := s.result(b); err != nil {
				return err
			}
			if n > 0 {
				continue
			}
			name, arm := string(b.Name), armOf(b)
			s.partial[key{name, arm, ""}] = slices.ContainsFunc(result.Usable(samples),
				func(s *result.Sample) bool { return s.GCCounted == result.GCPartial })
			for _, fig := range result.Figures {
				if v, ok := fig.Center(samples); ok && fig.Pooled {
					s.pooled[key{name, arm, fig.Unit}] = v
				}
			}
		}
	}
	return nil
}

// bench adds results in the Go benchmark format.
func (s *Set) bench(text []byte) error {
	if err := s.keys(text); err != nil {
		return err
	}
	r := benchfmt.NewReader(bytes.NewReader(text), s.Name)
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			if err := s.result(rec); err != nil {
				return err
			}
		case *benchfmt.SyntaxError: // of the program: benchstat passes it over as well
			s.passed = append(s.passed, rec)
		case *benchfmt.UnitMetadata:
			if rec.Key == "better" {
				s.higher[rec.Unit] = rec.Value == "higher"
			}
		}
	}
	if err := r.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: the line is longer than the %s that the Go benchmark format is read by", s.Name, longLine(text), unit.Exact(bufio.MaxScanTokenSize))
	} else if err != nil {
		return err // it names the file
	}
	return nil
}

// mostLeftOut bounds how many figures that were left out are named.
const mostLeftOut = 20

func (s *Set) leave(text string) {
	if len(s.leftOut) < mostLeftOut && !slices.Contains(s.leftOut, text) {
		s.leftOut = append(s.leftOut, text)
	}
}

// warnings say what of the file is not in the set.
func (s *Set) warnings() (out []string) {
	if n := len(s.passed); n > 0 {
		p := s.passed[0]
		text := fmt.Sprintf("%s:%d: passed over: it begins with Benchmark, and is not a result: %s", s.Name, p.Line, p.Msg)
		if n > 1 {
			text += fmt.Sprintf("; so do %d more lines", n-1)
		}
		out = append(out, text)
	}
	if len(s.leftOut) > 0 {
		out = append(out, s.Name+": left out: "+strings.Join(s.leftOut, "; "))
	}
	if s.ended != "" {
		out = append(out, s.Name+": not completed"+s.ended+": what was measured until then is compared")
	}
	return out
}

// longLine is the number of the first line that [benchfmt.Reader] cannot take.
func longLine(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		if n++; len(line) >= bufio.MaxScanTokenSize {
			break
		}
	}
	return n
}

// keys counts the keys of the configuration, all of which stay with each result.
func (s *Set) keys(text []byte) error {
	seen := make(map[string]bool)
	for line := range bytes.Lines(text) {
		key, _, ok := bytes.Cut(line, []byte(":"))
		other := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsUpper(r) } // it is another line then
		if !ok || seen[string(key)] || bytes.ContainsFunc(key, other) {
			continue
		}
		if seen[string(key)] = true; len(seen) > input.MaxKeys {
			return fmt.Errorf("%s: %w", s.Name, &input.TooLargeError{What: "the text", Most: input.MaxKeys, Unit: "keys"})
		}
	}
	return nil
}

// result adds a result. Units are as benchstat has them, seconds instead of ns.
func (s *Set) result(r *benchfmt.Result) error {
	for _, c := range r.Config {
		value := string(c.Value)
		if values := s.config[c.Key]; len(values) <= input.MaxKeys && !slices.Contains(values, value) {
			s.config[c.Key] = append(s.config[c.Key], value)
		}
	}
	name := armOf(r)
	if !slices.Contains(s.arms, name) {
		s.arms = append(s.arms, name)
	}
	for _, v := range r.Values {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
			s.leave(fmt.Sprintf("%s %s is %v", r.Name, v.Unit, v.Value))
			continue
		}
		value, of := benchunit.Tidy(v.Value, v.Unit)
		s.add(key{string(r.Name), name, of}, value)
	}
	if len(s.rows)+len(s.arms)+len(s.higher) > input.MaxRows {
		return fmt.Errorf("%s: %w", s.Name, &input.TooLargeError{What: "the result", Most: input.MaxRows, Unit: "different figures"})
	}
	return nil
}

// armOf names the arm of a result: what its configuration tells of it.
func armOf(r *benchfmt.Result) string {
	var arm []string
	for _, k := range armKeys {
		if v := r.GetConfig(k); v != "" && v != "default" && !(k == "thp" && v == "system") {
			if k != "arm" && k != "pkg" {
				v = k + "=" + v
			}
			arm = append(arm, v)
		}
	}
	return strings.Join(arm, " ")
}

func (s *Set) add(k key, v float64) {
	if _, ok := s.values[k]; !ok {
		s.rows = append(s.rows, k)
		s.names = appendOnce(s.names, k.name)
	}
	s.values[k] = append(s.values[k], v)
}

// inspect adds what a look at processes saw: one value each.
func (s *Set) inspect(f *result.Inspect) {
	s.once = true
	one := func(name string, resident *uint64, w *result.Windows) {
		if resident != nil {
			s.add(key{name: name, unit: "resident-bytes"}, float64(*resident))
		}
		if w != nil {
			s.add(key{name: name, unit: "huge-bytes"}, float64(w.HugeSize))
			s.add(key{name: name, unit: "gain-bytes"}, float64(w.Gain))
			s.add(key{name: name, unit: "huge-fraction"}, w.Coverage)
		}
	}
	if p := f.Process; p != nil {
		one(p.Name, p.Resident, p.Windows)
		if b := p.Bloat; b != nil {
			s.add(key{name: p.Name, unit: "bloat-bytes"}, float64(b.Most))
		}
	}
	if f.Processes != nil {
		for _, p := range *f.Processes {
			one(p.Name, &p.Resident, p.Windows)
		}
	}
}

// The units of what a cgroup is charged for, and of what is in RSS besides.
const (
	chargedUnit = "charged-bytes"
	apartUnit   = "rss-not-charged-bytes"
)

// charge adds what a cgroup is charged for: one value each.
func (s *Set) charge(f *result.Charge) {
	s.once, s.whole = true, true
	s.add(key{name: "charge", unit: chargedUnit}, float64(f.Charged))
	for _, p := range f.Parts {
		s.add(key{name: p.Kind, unit: chargedUnit}, float64(p.Bytes))
	}
	s.add(key{name: "unexplained", unit: chargedUnit}, float64(f.Unexplained))
	for _, a := range f.Apart {
		s.add(key{name: a.Kind, unit: apartUnit}, float64(a.Bytes))
	}
}

// zero adds what only the other one has of a whole.
func (s *Set) zero(other *Set) {
	for _, k := range other.rows {
		if _, ok := s.values[k]; !ok {
			s.add(k, 0)
		}
	}
}

// perSecond makes rates of what was counted in a window of a running process, which
// is as long as --duration says: its length is not a figure of the program. There is one
// window, which no test can compare.
func (s *Set) perSecond() {
	s.once = true
	rows := s.rows
	s.rows = nil
	for _, k := range rows {
		base, counted := strings.CutSuffix(k.unit, "/op")
		length := s.values[key{k.name, k.arm, "sec/op"}]
		switch {
		case k.unit == "sec/op":
			continue
		case counted && len(length) == 1 && length[0] > 0:
			rate := key{k.name, k.arm, base + "/second"}
			s.values[rate] = []float64{s.values[k][0] / length[0]}
			s.rows = append(s.rows, rate)
		case !counted:
			s.rows = append(s.rows, k)
		}
	}
}

// moreIsBetter says whether more of a unit is better.
func (s *Set) moreIsBetter(unit string) bool {
	return s.higher[unit] || strings.HasSuffix(unit, "/s") || unit == "huge-bytes" || unit == "huge-fraction"
}

// isMinor says that a first look can do without a unit.
func isMinor(unit string) bool {
	f, own := figure.OfUnit(unit)
	return own && !f.Main
}

// ErrNothing says that two results have nothing to compare.
var ErrNothing = errors.New("nothing in common: neither the same benchmarks nor the same experiments")

// ReadSide reads a side of a comparison. The result is nil of a file in the Go
// benchmark format.
func ReadSide(name string, data []byte, redact bool) (*Set, *result.Result, error) {
	if data = Plain(data); !IsResult(data) {
		if redact {
			data = result.RedactBench(data)
		}
		s, err := Read(name, data)
		return s, nil, err
	}
	r, err := result.Read(name, data)
	if err == nil && redact {
		err = r.Redact()
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := NewSet(r)
	return s, r, err
}
