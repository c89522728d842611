package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchunit"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// ABLabel names a figure of folio ab.
func ABLabel(key string) string {
	if i := slices.IndexFunc(figure.All, func(f figure.Figure) bool { return f.Key == key }); i >= 0 {
		return figure.All[i].Short
	}
	return key
}

// ABLabelIn names a figure beside the others of a comparison: where the processes of a command have
// more memory together than the largest has, peak RSS says of which it is.
func ABLabelIn(c *result.ABComparison, key string) string {
	const largest, all = "peak_rss_bytes", "peak_tree_rss_bytes"
	if (key == largest || key == all) && slices.ContainsFunc(c.Figures, func(f result.ABFigure) bool { return f.Key == all }) {
		return figure.ByKey(key).Label
	}
	return ABLabel(key)
}

// ABValue prints a value of a figure.
func ABValue(f *result.ABFigure, v float64) string {
	switch f.Unit {
	case result.UnitSeconds:
		return unit.Seconds(v)
	case result.UnitBytes:
		return unit.Bytes(v)
	case result.UnitCount:
		return unit.Count(v)
	case result.UnitFraction:
		return unit.Percent(v)
	}
	if strings.HasSuffix(f.Key, " ns/op") {
		return unit.Seconds(v / 1e9)
	}
	return benchunit.Scale(v, benchunit.Decimal)
}

// signed prints a fraction as a difference: +3.1%.
func signed(v float64) string {
	text := fmt.Sprintf("%+.1f%%", 100*v)
	if text == "-0.0%" || text == "+0.0%" {
		return "0.0%"
	}
	return text
}

// ABDifference prints the difference of a figure, and its interval; "" where there is
// none: in percent of the base, in points of a share, else in the figure's unit.
func ABDifference(f *result.ABFigure) (diff, interval string) {
	if f.Ratio != nil {
		diff = signed(*f.Ratio - 1)
		if f.RatioLo != nil && f.RatioHi != nil {
			interval = signed(*f.RatioLo-1) + " to " + signed(*f.RatioHi-1)
		}
		return diff, interval
	}
	if f.DifferenceLo != nil && f.DifferenceHi != nil {
		interval = abInterval(f, *f.DifferenceLo, *f.DifferenceHi)
	}
	return abSigned(f, f.Difference), interval
}

// abInterval prints an interval of a difference in the figure's unit.
func abInterval(f *result.ABFigure, lo, hi float64) string {
	low := abSigned(f, lo)
	if f.Unit == result.UnitFraction {
		low = strings.TrimSuffix(low, points)
	}
	return low + " to " + abSigned(f, hi)
}

// points are the unit of a difference of two shares.
const points = " points"

// abSigned prints a difference in the figure's unit: +12, -1.500ms, +3.1 points.
func abSigned(f *result.ABFigure, v float64) string {
	if f.Unit == result.UnitFraction {
		return strings.TrimSuffix(signed(v), "%") + points
	}
	text := ABValue(f, math.Abs(v))
	switch {
	case v > 0:
		return "+" + text
	case v < 0:
		return "-" + text
	}
	return text
}

// TooFew stands for the difference of a figure that was not judged.
const TooFew = "too few rounds"

// ABFound says what the CPU time and the memory differ in, where another figure decides and
// this is certain; "" for nothing.
func ABFound(c *result.ABComparison) string {
	var out []string
	for i := range c.Figures {
		f := &c.Figures[i]
		if f.Primary || !f.Different || !slices.Contains([]string{"cpu_seconds", "peak_rss_bytes"}, f.Key) {
			continue
		}
		diff, _ := ABDifference(f)
		out = append(out, ABLabelIn(c, f.Key)+" "+diff)
	}
	return strings.Join(out, ", ")
}

// ABSentence says what a figure differs in.
func ABSentence(f *result.ABFigure) string {
	diff, interval := ABDifference(f)
	within := "[" + strings.Replace(interval, " to ", ", ", 1) + "]" // as tune has it
	label := ABLabel(f.Key)
	switch better, different := f.Better(); {
	case interval == "":
		return fmt.Sprintf("%s: too few rounds to tell (%d)", label, f.N)
	case !different && isZero(f.DifferenceLo) && isZero(f.DifferenceHi):
		if f.Base == f.Value {
			return fmt.Sprintf("no difference in %s found (%s in both)", label, ABValue(f, f.Base))
		}
		return fmt.Sprintf("no difference in %s found", label)
	case !different:
		return fmt.Sprintf("no difference in %s found %s", label, within)
	case better:
		return fmt.Sprintf("%s %s %s, better", label, diff, within)
	default:
		return fmt.Sprintf("%s %s %s, worse", label, diff, within)
	}
}

// tooNoisy is the difference up to which what can be seen is worth a number: who measures whether
// one program is faster learns nothing from "below 544% goes undetected".
const tooNoisy = 1

// atLeast prints a difference that can be seen, rounded up.
func atLeast(v float64) string { return fmt.Sprintf("%.1f%%", math.Ceil(1000*v)/10) }

func isZero(v *float64) bool { return v != nil && *v == 0 }

// ABEnd says why the comparison ended and what it could have seen.
func ABEnd(f *result.AB) string {
	r := f.Result
	text := unit.Plural(r.Rounds, "round") + " in " + unit.Seconds(f.ElapsedSeconds)
	switch r.Ended {
	case result.EndedBudget:
		text += "; --budget is spent"
	case result.EndedMaxRounds:
		text += "; --rounds is reached"
	case result.EndedStopped:
		text += "; not completed"
	}
	switch {
	case r.Detectable == nil:
		if !abTooFew(r) {
			break
		}
		text += fmt.Sprintf(". Intervals take %d rounds or more", enoughRounds)
		if n := r.Rounds; r.Ended == result.EndedBudget && n > 0 && n < enoughRounds {
			text += " (--budget " + unit.About(time.Duration(2*enoughRounds/float64(n)*f.ElapsedSeconds*float64(time.Second))) + ")"
		}
	case *r.Detectable == 0:
		text += ". The runs had no noise: any difference would have been found"
	case *r.Detectable > tooNoisy:
		text += ". Too noisy to find any difference below 100%"
	case r.Ended == result.EndedPrecise || *r.Detectable <= r.Detect:
		text += fmt.Sprintf(". A difference of %s would have been found in 8 of 10 such comparisons", atLeast(*r.Detectable))
	default:
		text += fmt.Sprintf(". A difference of %s would have been found in 8 of 10 such comparisons (--detect asks for %s)",
			atLeast(*r.Detectable), atLeast(r.Detect))
	}
	return text
}

// abTooFew says whether a figure that decides has no interval.
func abTooFew(r *result.ABResult) bool {
	for i := range r.Comparisons {
		for j := range r.Comparisons[i].Figures {
			if f := &r.Comparisons[i].Figures[j]; f.Primary && f.DifferenceLo == nil {
				return true
			}
		}
	}
	return false
}

// ABGate names a --fail-if, and says what it found and why.
func ABGate(f *result.AB, g *result.ABGate) (bound, verdict, why string) {
	bound = "--fail-if " + result.Quote(g.Bound)
	if len(f.Arms) > 2 {
		bound = f.Arms[g.Arm].Name + ": " + bound
	}
	verdict, why = abVerdict(f, g)
	return bound, verdict, why
}

func abVerdict(f *result.AB, g *result.ABGate) (verdict, why string) {
	var x *result.ABFigure
	for i := range f.Result.Comparisons {
		if c := &f.Result.Comparisons[i]; c.Arm == g.Arm {
			x = c.Find(g.Key)
		}
	}
	switch {
	case x == nil:
		return "cannot be judged", "not measured"
	case g.Verdict == result.VerdictUnknown:
		return "cannot be judged", fmt.Sprintf("the base is %s, and no percentage of it is a difference; give the bound in units, such as %s",
			ABValue(x, x.Base), result.Quote(inUnits(g.Bound, x)))
	case g.Lo == nil || g.Hi == nil:
		return "too few rounds to tell", unit.Plural(x.N, "round")
	}
	why = "the 95% interval is " + signed(*g.Lo) + " to " + signed(*g.Hi)
	switch {
	case g.Absolute || x.Base <= 0:
		why = "the 95% interval is " + abInterval(x, *g.Lo, *g.Hi)
	case x.Ratio == nil: // its difference is shown in points, or in its unit
		why += " of the base"
	}
	switch g.Verdict {
	case result.VerdictBeyond:
		return "failed", why
	case result.VerdictWithin:
		return "passed", why
	}
	return "too noisy to tell", why
}

// inUnits turns a bound in percent of a figure into one in its unit, as an example.
func inUnits(bound string, f *result.ABFigure) string {
	value := map[result.ABUnit]string{result.UnitSeconds: "5ms", result.UnitBytes: "10MiB", result.UnitFraction: "5points"}[f.Unit]
	if value == "" {
		value = "100"
	}
	is := strings.LastIndexAny(bound, "<>") + 1
	sign := strings.IndexAny(bound[is:], "+-") + 1
	return bound[:is+sign] + value
}

// TitleAB are the name, the command and the source of each arm, the base first.
func TitleAB(f *result.AB) (out [][3]string) {
	for i := range f.Arms {
		a := &f.Arms[i]
		name, of := a.Name, ""
		if i == 0 {
			name += " (base)"
		}
		if s := a.Source; s != nil {
			of = s.Package + " at " + s.Commit[:min(12, len(s.Commit))]
			if s.Dirty {
				of += " with changes"
			}
		}
		if v := a.Program.GoVersion; v != nil {
			of = strings.TrimPrefix(of+", "+*v, ", ")
		}
		out = append(out, [3]string{console.Line(name), console.Line(a.Line()), console.Line(of)})
	}
	return out
}

// ABNoRound is said of a program that has no run in a round in which the base has one.
const ABNoRound = "not compared: no round has a run of both"

// ABShown says whether a figure is one to show: what is 0 in both tells nothing, and
// the parts of CPU time are seen in it.
func ABShown(x *result.ABFigure) bool {
	switch {
	case x.Primary:
		return true
	case x.Key == "gc_runtime_cpu_seconds" || x.Key == "gc_cpu_seconds":
		return false // the share has it
	}
	return x.Base != 0 || x.Difference != 0 || x.Different
}

// ABListed says whether a figure of a comparison is listed: the GC's CPU time by the runtime is an
// estimate for where samples do not tell.
func ABListed(c *result.ABComparison, x *result.ABFigure) bool {
	return x.Primary || x.Key != "gc_runtime_cpu_seconds" || c.Find("gc_cpu_seconds") == nil
}

// ABSmall is the part of the CPU time below which a class is not shown unless it differs.
const abSmall = 0.01

// ABClasses returns the classes to show, with the CPU time of the base.
func ABClasses(p *result.ABProfile) []result.ABClass {
	total := 0.0
	for _, c := range p.Classes {
		total += math.Max(c.Base, c.Seconds)
	}
	var out []result.ABClass
	for _, c := range p.Classes {
		if c.Different || math.Max(c.Base, c.Seconds) >= abSmall*total {
			out = append(out, c)
		}
	}
	return out
}

func signedSeconds(v float64) string {
	switch {
	case v > 0:
		return "+" + unit.Seconds(v)
	case v < 0:
		return "-" + unit.Seconds(-v)
	}
	return "0s"
}

// ABClassCells are the cells of a class in tables.
func ABClassCells(c *result.ABClass) (cells [5]string) {
	cells = [5]string{c.Class.Info().Title, unit.Seconds(c.Base), unit.Seconds(c.Seconds), "~", ""}
	switch {
	case c.Different:
		cells[3] = signedSeconds(c.Difference)
	case c.DifferenceLo == nil || c.DifferenceHi == nil:
		cells[3] = TooFew
	}
	if c.DifferenceLo != nil && c.DifferenceHi != nil {
		cells[4] = signedSeconds(*c.DifferenceLo) + " to " + signedSeconds(*c.DifferenceHi)
	}
	return cells
}

// ABSites returns the functions whose memory work differs by more than sampling does.
func ABSites(p *result.ABProfile) []result.ABSite {
	const most = 10
	var out []result.ABSite
	for _, s := range p.Sites {
		if s.Different && len(out) < most {
			out = append(out, s)
		}
	}
	return out
}

// ABSiteCells are the cells of a function in tables.
func ABSiteCells(s *result.ABSite) [4]string {
	side := func(v *float64) string {
		if v == nil {
			return none
		}
		return unit.Seconds(*v)
	}
	diff := signedSeconds(s.Difference)
	if s.Base == nil || s.Seconds == nil {
		diff += " or more" // the other side is less than what is listed
	}
	return [4]string{s.Func, side(s.Base), side(s.Seconds), diff}
}
