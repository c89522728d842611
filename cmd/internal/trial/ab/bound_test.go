package ab

import (
	"math"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
	"pgregory.net/rapid"
)

func TestParseBound(t *testing.T) {
	for text, want := range map[string]Bound{
		"wall>+3%":              {Key: "wall_seconds", Above: true, Value: 0.03},
		"wall>-3%":              {Key: "wall_seconds", Above: true, Value: -0.03},
		"cpu_seconds > +0.5%":   {Key: "cpu_seconds", Above: true, Value: 0.005},
		"op/s<-5%":              {Key: "op/s", Value: -0.05},
		"peak_rss>+10MiB":       {Key: "peak_rss_bytes", Above: true, Value: 10 << 20, Absolute: true, Unit: Bytes},
		"wall>+5ms":             {Key: "wall_seconds", Above: true, Value: 0.005, Absolute: true, Unit: Seconds},
		"faults>+1000":          {Key: "minor_faults", Above: true, Value: 1000, Absolute: true, Unit: Count},
		"gc_cycles<-3":          {Key: "gc_cycles", Value: -3, Absolute: true, Unit: Count},
		"gc_share>+10%":         {Key: "gc_cpu_fraction", Above: true, Value: 0.1},
		"Insert/n<10-2>+3%":     {Key: "Insert/n<10-2", Above: true, Value: 0.03},
		"Insert-2 B/op>+0%":     {Key: "Insert-2 B/op", Above: true},
		"Insert-2 ns/op>+2.5us": {Key: "Insert-2 ns/op", Above: true, Value: 2.5e-6, Absolute: true, Unit: Seconds},
		"wall>+1e1%":            {Key: "wall_seconds", Above: true, Value: 0.1},
		"peak_rss>+0%":          {Key: "peak_rss_bytes", Above: true},
		"peak_tree_rss>+200%":   {Key: "peak_tree_rss_bytes", Above: true, Value: 2},
		"memory_tax>+2.5points": {Key: "memory_tax_fraction", Above: true, Value: 0.025, Absolute: true, Unit: Fraction},
		"gc_share<-5 points":    {Key: "gc_cpu_fraction", Value: -0.05, Absolute: true, Unit: Fraction},
	} {
		want.Text = text
		got, err := ParseBound(text)
		if err != nil || math.Abs(got.Value-want.Value) > 1e-12*math.Abs(want.Value) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
			continue
		}
		if got.Value = want.Value; got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestParseBoundErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "want NAME>+N% or NAME<-N%, such as wall>+3%",
		"wall":               "want NAME>+N%",
		"wall+3%":            "want NAME>+N%",
		">+3%":               "no figure is named",
		"wall>":              "no difference is given: want one such as wall>+3%",
		"wall>=+3%":          "want > or <, without =",
		"wall>3%":            "want a difference with its sign, such as wall>+3%",
		"wall<3%":            "want a difference with its sign, such as wall<-3%",
		"wall>5ms":           "want a difference with its sign, such as wall>+5ms",
		"wall>abc":           "want a difference with its sign, such as wall>+3%",
		"wall>10":            "want a difference with its sign, such as wall>+3%",
		"foo>1":              "want a difference with its sign, such as wall>+3%",
		"foo<":               "no difference is given: want one such as wall<-3%",
		"wall>+":             `"+" is not a difference`,
		"wall>+%":            `"+%" is not a difference`,
		"wall>+x%":           `"+x%" is not a difference`,
		"wall>+NaN%":         `"+NaN%" is not a difference`,
		"wall>+Inf%":         `"+Inf%" is not a difference`,
		"wall>++3%":          `"++3%" is not a difference`,
		"wall>+-3":           `"+-3" is not a difference`,
		"wall<-101%":         "no figure can be 101% less than it was",
		"wall>+10MiB":        "want a difference in percent, or a duration such as +5ms",
		"wall>+10":           "want a difference in percent, or a duration such as +5ms",
		"peak_rss>+5ms":      "want a difference in percent, or a size such as +10MiB",
		"peak_rss>+10":       "want a difference in percent, or a size such as +10MiB",
		"faults>+10MiB":      "want a difference in percent, or a number such as +100",
		"wall>+5points":      "want a difference in percent, or a duration such as +5ms",
		"memory_tax>+points": `"+points" is not a difference`,
		"memory_tax>+10":     "want a difference in percent, or in points such as +5points",
		"peak_rss>+10furl":   `"+10furl" is not a difference`,
	} {
		_, err := ParseBound(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "--fail-if ") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Whatever is given, a bound is finite and says what it was read from, or the error is
// one line.
func FuzzParseBound(f *testing.F) {
	for _, seed := range []string{"wall>+3%", "peak_rss>+10MiB", "x<-1", "a>b<+1s", ">", "wall>+9e999%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBound(text)
		switch {
		case err != nil && strings.Contains(err.Error(), "\n"):
			t.Errorf("%q: more than a line: %v", text, err)
		case err == nil && (math.IsNaN(b.Value) || math.IsInf(b.Value, 0) || b.Key == "" || b.Text != text):
			t.Errorf("%q: %+v", text, b)
		}
	})
}

// judged makes a comparison with one figure of an interval, as ratios, and judges it.
func judged(b Bound, lo, hi, base float64) Gate {
	f := Figure{Key: b.Key, Unit: Seconds, Base: base, N: 20}
	ratio, rlo, rhi := 1+(lo+hi)/2, 1+lo, 1+hi
	dlo, dhi := base*lo, base*hi
	f.Ratio, f.RatioLo, f.RatioHi, f.DifferenceLo, f.DifferenceHi = &ratio, &rlo, &rhi, &dlo, &dhi
	return b.judge(&Comparison{Arm: 1, Figures: []Figure{f}})
}

// The verdict is that of every point of the interval, if they agree, and else that it
// is not known.
func TestVerdictAgreesWithInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fraction := rapid.Float64Range(-0.9, 3)
		lo, hi := fraction.Draw(t, "lo"), fraction.Draw(t, "hi")
		if lo > hi {
			lo, hi = hi, lo
		}
		b := Bound{Key: "wall_seconds", Above: rapid.Bool().Draw(t, "above"), Value: fraction.Draw(t, "bound"),
			Absolute: rapid.Bool().Draw(t, "absolute"), Unit: Seconds}
		if rapid.Bool().Draw(t, "at the edge") {
			b.Value = rapid.SampledFrom([]float64{lo, hi}).Draw(t, "edge")
		}
		base := 1.0 // so that fractions are seconds, exactly
		g := judged(b, lo, hi, base)
		beyond := func(x float64) bool {
			if b.Above {
				return x > b.Value
			}
			return x < b.Value
		}
		// What the gate itself says of the interval is what it is judged by.
		first, last := beyond(*g.Lo), beyond(*g.Hi)
		want := Noisy
		switch {
		case first && last:
			want = Beyond
		case !first && !last:
			want = Within
		}
		if g.Verdict != want {
			t.Fatalf("%+v of %v to %v: %s, want %s", b, *g.Lo, *g.Hi, g.Verdict, want)
		}
	})
}

// A bound and its mirror judge mirrored intervals alike.
func TestVerdictMirrored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-1, 1)
		lo, hi, bound := v.Draw(t, "lo"), v.Draw(t, "hi"), v.Draw(t, "bound")
		if lo > hi {
			lo, hi = hi, lo
		}
		a := Bound{Above: true, Value: bound}.verdict(lo, hi)
		if b := (Bound{Value: -bound}).verdict(-hi, -lo); a != b {
			t.Fatalf("%v to %v against %v: %s above, %s below", lo, hi, bound, a, b)
		}
	})
}

// A gate passes or fails by an interval that is known, and of which the bound is a part:
// not by what was not measured, nor by a fraction of 0, but where both are 0.
func TestVerdictWithoutInterval(t *testing.T) {
	relative := Bound{Key: "major_faults", Above: true, Value: 0.1}
	absolute := Bound{Key: "major_faults", Above: true, Value: 5, Absolute: true, Unit: Count}
	fewer := Bound{Key: "major_faults", Above: true, Value: -0.1}
	one, zero, some := 1.0, 0.0, 12.0
	for _, x := range []struct {
		name string
		b    Bound
		f    Figure
		want Verdict
	}{
		{"too few rounds", relative, Figure{Key: "major_faults", Ratio: &one}, Noisy},
		{"too few rounds, 0", relative, Figure{Key: "major_faults"}, Noisy},
		{"not measured", relative, Figure{Key: "minor_faults", Ratio: &one, RatioLo: &one, RatioHi: &one}, Unknown},
		{"not measured", absolute, Figure{Key: "minor_faults", Ratio: &one, RatioLo: &one, RatioHi: &one}, Unknown},
		{"always 0", relative, Figure{Key: "major_faults", DifferenceLo: &zero, DifferenceHi: &zero}, Within},
		{"always 0, and to be less", fewer, Figure{Key: "major_faults", DifferenceLo: &zero, DifferenceHi: &zero}, Unknown},
		{"0 and then some", relative, Figure{Key: "major_faults", DifferenceLo: &some, DifferenceHi: &some}, Unknown},
		{"0 and then some", absolute, Figure{Key: "major_faults", DifferenceLo: &some, DifferenceHi: &some}, Beyond},
		{"0 and maybe some", relative, Figure{Key: "major_faults", DifferenceLo: &zero, DifferenceHi: &some}, Unknown},
		{"0 and maybe some", absolute, Figure{Key: "major_faults", DifferenceLo: &zero, DifferenceHi: &some}, Noisy},
		{"some in part of the runs", relative, Figure{Key: "major_faults", Base: 100, DifferenceLo: &some, DifferenceHi: &some}, Beyond},
	} {
		g := x.b.judge(&Comparison{Arm: 1, Figures: []Figure{x.f}})
		if g.Verdict != x.want {
			t.Errorf("%s: %s, want %s", x.name, g.Verdict, x.want)
		}
		if (g.Verdict == Within || g.Verdict == Beyond) && (g.Lo == nil || g.Hi == nil) {
			t.Errorf("%s: %s without an interval", x.name, g.Verdict)
		}
	}
}

// A bound in units on a base of 0 is judged as soon as it is known to half of it; one in
// percent, which cannot be judged, does not hold up the rest.
func TestBoundsOnZeroBase(t *testing.T) {
	cycles := func(least, more int) func(int) *trial.Sample {
		return func(n int) *trial.Sample {
			v := least
			if n%3 == 0 {
				v += more
			}
			return &trial.Sample{Wall: 1, CPU: 1, GCCycles: &v}
		}
	}
	opts := plainOptions
	opts.MaxRounds = 50
	for text, want := range map[string]Verdict{"gc_cycles>+3": Beyond, "gc_cycles>+8": Within, "gc_cycles>+5%": Unknown, "oom_kills>+1": Unknown} {
		b, err := ParseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		opts.Bounds = []Bound{b}
		r, err := Compare(t.Context(), arms(cycles(0, 0), cycles(4, 1)), opts)
		if err != nil {
			t.Fatal(err)
		}
		if r.Gates[0].Verdict != want || r.Ended != Precise || r.Rounds != LeastRounds {
			t.Errorf("%s: %+v, ended %s after %d rounds", text, r.Gates[0], r.Ended, r.Rounds)
		}
	}
}

func TestUnknownFigureIsGuessed(t *testing.T) {
	have := []string{"wall", "user", "peak_rss"}
	for name, want := range map[string]string{
		"wal":    `--fail-if "wal>+3%": no figure "wal": did you mean wall?`,
		"nosuch": `--fail-if "nosuch>+3%": no figure "nosuch": want one of wall, user, peak_rss`,
	} {
		if got := (&UnknownFigureError{Text: name + ">+3%", Name: name, Have: have}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
