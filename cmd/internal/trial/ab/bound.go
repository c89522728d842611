package ab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/foliomem/folio/internal/base/unit"
)

// A Bound is what --fail-if says: the difference from the base that is too much.
type Bound struct {
	Text string // as it was given
	Key  string // of the figure
	// Above: it fails where the difference is larger than Value; else where smaller.
	Above bool
	// Value is a fraction of the base, or with Absolute in the figure's unit.
	Value    float64
	Absolute bool
	// Unit is that of an absolute Value.
	Unit Unit
}

// ParseBound reads a --fail-if flag: NAME, > or <, and a signed difference in percent
// or in units, such as wall>+3% or peak_rss>+10MiB.
func ParseBound(text string) (Bound, error) {
	bad := func(format string, args ...any) (Bound, error) {
		return Bound{}, fmt.Errorf("--fail-if %q: %s", text, fmt.Sprintf(format, args...))
	}
	i := strings.LastIndexAny(text, "<>")
	if i < 0 {
		return bad("want NAME>+N%% or NAME<-N%%, such as wall>+3%%")
	}
	name, value := strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:])
	b := Bound{Text: text, Above: text[i] == '>'}
	switch {
	case strings.ContainsFunc(text, unicode.IsControl):
		return bad("it has a control character in it")
	case name == "":
		return bad("no figure is named: want one such as wall>+3%%")
	case strings.HasPrefix(value, "="):
		return bad("want > or <, without =")
	case value == "":
		return bad("no difference is given: want one such as %s", example(name, text[i:i+1], "3%"))
	case value[0] != '+' && value[0] != '-':
		return bad("want a difference with its sign, such as %s", example(name, text[i:i+1], value))
	}
	b.Key, _ = keyOf(name)
	var err error
	if number, ok := strings.CutSuffix(value, "%"); ok {
		b.Value, err = strconv.ParseFloat(number, 64)
		b.Value /= 100
	} else {
		b.Absolute = true
		b.Value, b.Unit, err = quantity(value[1:])
		if value[0] == '-' {
			b.Value = -b.Value
		}
	}
	switch {
	case err != nil || math.IsNaN(b.Value) || math.IsInf(b.Value, 0):
		return bad("%q is not a difference: want one such as +3%%, +10MiB or +5ms", value)
	case !b.Absolute && b.Value < -1:
		return bad("no figure can be %s less than it was", strings.TrimPrefix(value, "-"))
	}
	if _, known := keyOf(name); known {
		if err := b.fits(unitOf(b.Key)); err != nil {
			return Bound{}, err
		}
	}
	return b, nil
}

// example is a bound like one that has no sign: of the same figure and difference as far as
// there is such a figure, and it has such differences.
func example(name, op, value string) string {
	sign := map[string]string{">": "+", "<": "-"}[op]
	if _, known := keyOf(name); !known {
		name = "wall" // what names there are beside those known is seen in the first round
	}
	if text := name + op + sign + value; check(text) == nil {
		return text
	}
	return name + op + sign + "3%"
}

func check(text string) error { _, err := ParseBound(text); return err }

// quantity reads a number with or without a unit of size, time or shares.
func quantity(s string) (float64, Unit, error) {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		if s[0] == '+' || s[0] == '-' {
			return 0, "", strconv.ErrSyntax // a second sign
		}
		return v, Count, nil
	}
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return 0, "", strconv.ErrSyntax
	}
	if number, ok := strings.CutSuffix(s, "points"); ok { // of a share
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		return v / 100, Fraction, err
	}
	if d, err := time.ParseDuration(s); err == nil {
		return d.Seconds(), Seconds, nil
	}
	n, err := unit.ParseSize(s)
	return float64(n), Bytes, err
}

// fits checks the unit of a bound against that of its figure, which it converts to.
func (b *Bound) fits(unit Unit) error {
	if !b.Absolute || b.Unit == unit {
		return nil
	}
	want := map[Unit]string{
		Seconds: "a duration such as +5ms", Bytes: "a size such as +10MiB", Count: "a number such as +100",
		Fraction: "in points such as +5points", Own: "a number such as +100",
	}
	switch {
	case b.Unit == Count && unit == Own:
		b.Unit = Own
		return nil
	case b.Unit == Seconds && unit == Own && strings.HasSuffix(b.Key, " ns/op"):
		b.Unit, b.Value = Own, b.Value*1e9
		return nil
	case b.Unit == Own && unit == Own:
		return nil
	}
	return fmt.Errorf("--fail-if %q: want a difference in percent, or %s", b.Text, want[unit])
}

// A Verdict is what a bound says of an interval.
type Verdict string

const (
	Within  Verdict = "within"  // no part of the interval lies beyond the bound
	Beyond  Verdict = "beyond"  // all of it does
	Noisy   Verdict = "noisy"   // part of it does, or there were too few rounds for one
	Unknown Verdict = "unknown" // the bound cannot be judged: see [Gate]
)

// A Gate is a bound, judged. It cannot be judged, however many rounds there are, where
// the figure was not measured, or the bound is a fraction of a base of 0.
type Gate struct {
	Bound   string  `json:"bound" redact:"prose"`
	Key     string  `json:"key" redact:"keep"`
	Arm     int     `json:"arm"`
	Verdict Verdict `json:"verdict" redact:"keep"`
	// Lo and Hi are the interval of the difference: fractions of the base, or with
	// Absolute in the figure's unit. Null where it is not known: never of a gate that is
	// within or beyond.
	Lo       *float64 `json:"lo"`
	Hi       *float64 `json:"hi"`
	Absolute bool     `json:"absolute"`
}

// judge holds a bound against the interval of its figure.
func (b Bound) judge(c *Comparison) Gate {
	g := Gate{Bound: b.Text, Key: b.Key, Arm: c.Arm, Verdict: Noisy, Absolute: b.Absolute}
	f := c.Find(b.Key)
	switch {
	case f == nil:
		g.Verdict = Unknown
	case f.DifferenceLo == nil || f.DifferenceHi == nil:
	case b.Absolute:
		g.Lo, g.Hi = f.DifferenceLo, f.DifferenceHi
	case f.RatioLo != nil && f.RatioHi != nil:
		g.Lo, g.Hi = finite(*f.RatioLo-1), finite(*f.RatioHi-1)
	case f.Base > 0:
		g.Lo, g.Hi = finite(*f.DifferenceLo/f.Base), finite(*f.DifferenceHi/f.Base)
	case *f.DifferenceLo == 0 && *f.DifferenceHi == 0 && b.verdict(0, 0) == Within:
		g.Lo, g.Hi = f.DifferenceLo, f.DifferenceHi // no difference, whatever it is a fraction of
	default:
		g.Verdict = Unknown
	}
	if g.Lo != nil && g.Hi != nil {
		g.Verdict = b.verdict(*g.Lo, *g.Hi)
	}
	return g
}

// verdict says where an interval lies.
func (b Bound) verdict(lo, hi float64) Verdict {
	if !b.Above {
		lo, hi = -hi, -lo
		b.Value = -b.Value
	}
	switch {
	case lo > b.Value:
		return Beyond
	case hi <= b.Value:
		return Within
	}
	return Noisy
}
