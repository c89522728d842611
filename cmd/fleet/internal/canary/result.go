package canary

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// A State is what a comparison came to.
type State string

const (
	Recommended State = "recommended"
	KeepPresent State = "keep_present" // it costs more, or no gain that matters is possible
	Undecided   State = "undecided"
	Stopped     State = "stopped"
)

const (
	leastGain = 0.01 // below which a difference does not matter
	missable  = 0.03 // the gain that is ruled out before the answer is to keep what there is
)

// A Result is what a comparison found.
type Result struct {
	State    State       `json:"state"`
	Reason   string      `json:"reason,omitempty"` // why it was stopped
	Workload string      `json:"workload"`
	Kind     string      `json:"workload_kind"`
	Setting  string      `json:"setting"`
	Unit     string      `json:"unit"` // of Cost
	Rounds   int         `json:"rounds"`
	Groups   [2][]string `json:"groups"`
	Cost     Comparison  `json:"cost"`
	RSS      Comparison  `json:"peak_rss"`
	P99      *Comparison `json:"p99,omitempty"`
	Blocks   []Block     `json:"blocks"`
}

// A Comparison is a figure with the setting against that without, within rounds.
type Comparison struct {
	Without float64  `json:"without"` // medians of the rounds; 0 without a round
	With    float64  `json:"with"`
	Ratio   float64  `json:"ratio"`
	Lo      *float64 `json:"lo"` // of the 95% interval
	Hi      *float64 `json:"hi"`
	P       float64  `json:"p"`
}

// String is the change with its interval.
func (c Comparison) String() string {
	switch {
	case c.Ratio == 0:
		return "unknown"
	case c.Lo == nil:
		return unit.Change(c.Ratio) + " (too few rounds for an interval)"
	}
	return fmt.Sprintf("%s [%s, %s]", unit.Change(c.Ratio), unit.Change(*c.Lo), unit.Change(*c.Hi))
}

// compare compares a figure of groups within rounds: what each group had with the setting and
// without it, so that neither a difference of the groups nor the hour is in the ratio.
func (c *Canary) compare(of func(b *Block, group int) float64) Comparison {
	var without, with []float64
	for i := 1; i < len(c.blocks); i += 2 {
		a, b := &c.blocks[i-1], &c.blocks[i]
		v, base := math.Sqrt(of(a, a.With)*of(b, b.With)), math.Sqrt(of(a, 1-a.With)*of(b, 1-b.With))
		if v > 0 && base > 0 && !math.IsInf(v/base, 0) {
			with, without = append(with, v), append(without, base)
		}
	}
	p := stat.ComparePairs(without, with)
	if p.N == 0 {
		return Comparison{P: 1}
	}
	out := Comparison{Without: stat.Median(without), With: stat.Median(with), Ratio: p.Ratio, P: p.P}
	if lo, hi, ok := p.Interval(stat.Alpha); ok {
		out.Lo, out.Hi = &lo, &hi
	}
	return out
}

// sum adds up a figure of a group in a block.
func (c *Canary) sum(b *Block, group int, of func(Figures) float64) (total float64) {
	for _, m := range c.groups[group] {
		total += of(b.Pods[m.name])
	}
	return total
}

func (c *Canary) conclude() *Result {
	r := &Result{
		Workload: c.Name.Namespace + "/" + c.Name.Workload + ":" + c.Name.Container, Kind: c.kind, Setting: c.setting(), Rounds: len(c.blocks) / 2, Groups: c.Groups(), Blocks: c.blocks,
		Unit: "CPU seconds per GiB allocated",
	}
	scale := float64(1 << 30)
	if c.Requests != "" {
		r.Unit, scale = "CPU seconds per request", 1
	}
	r.Cost = c.compare(func(b *Block, g int) float64 {
		return c.sum(b, g, func(f Figures) float64 { return f.CPU }) / c.sum(b, g, func(f Figures) float64 { return f.Work }) * scale
	})
	r.RSS = c.compare(func(b *Block, g int) float64 {
		return c.sum(b, g, func(f Figures) float64 { return f.RSS }) / float64(len(c.groups[g]))
	})
	if c.P99 != "" {
		p99 := c.compare(func(b *Block, g int) float64 {
			var all []float64
			for _, m := range c.groups[g] {
				if v := b.Pods[m.name].P99; v != nil {
					all = append(all, *v)
				}
			}
			return median(all)
		})
		r.P99 = &p99
	}
	cost := r.Cost
	switch {
	case cost.Lo == nil:
		r.State = Undecided
	case *cost.Hi < 1 && cost.Ratio <= 1-leastGain:
		r.State = Recommended
	case *cost.Lo > 1-missable:
		r.State = KeepPresent
	default:
		r.State = Undecided
	}
	return r
}

// setting is what is compared, in words.
func (o *Options) setting() string {
	var out []string
	if o.GOGC != "" {
		out = append(out, "GOGC="+o.GOGC)
	}
	if o.MemoryLimit != "" {
		out = append(out, "GOMEMLIMIT="+o.MemoryLimit)
	}
	return strings.Join(out, " ")
}

// Answer says in sentences what was found, the first of which is the answer.
func (r *Result) Answer() []string {
	rounds := unit.Plural(r.Rounds, "round")
	switch r.State {
	case Stopped:
		return []string{fmt.Sprintf("Stopped in round %d. Before, in %s: %s %s.", r.Rounds+1, rounds, r.Unit, r.Cost)}
	case Recommended:
		return []string{fmt.Sprintf("Set %s.", r.Setting), fmt.Sprintf("  %s %s in %s, peak RSS %s", r.Unit, r.Cost, rounds, r.RSS)}
	case KeepPresent:
		return []string{fmt.Sprintf("Keep what it has: %s saves less than %s of %s: %s.", r.Setting, unit.Percent(missable), r.Unit, r.Cost)}
	}
	if r.Cost.Lo == nil {
		return []string{fmt.Sprintf("Not decided: %s, at least %d are needed.", rounds, Fewest)}
	}
	return []string{fmt.Sprintf("Not decided in %s: %s %s. More rounds (--rounds) decide.", rounds, r.Unit, r.Cost)}
}

// Write prints the result.
func (r *Result) Write(w io.Writer) error {
	for _, line := range r.Answer() {
		if _, err := fmt.Fprintln(w, console.Line(line)); err != nil {
			return err
		}
	}
	if r.Rounds == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\twithout\twith\tdifference\n", console.Line(r.Workload))
	fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.Unit, unit.Seconds(r.Cost.Without), unit.Seconds(r.Cost.With), r.Cost)
	fmt.Fprintf(t, "peak RSS of a pod\t%s\t%s\t%s\n", unit.Bytes(r.RSS.Without), unit.Bytes(r.RSS.With), r.RSS)
	if r.P99 != nil {
		fmt.Fprintf(t, "p99\t%s\t%s\t%s\n", unit.Seconds(r.P99.Without), unit.Seconds(r.P99.With), r.P99)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nMedians of rounds; %s in each of two groups, which swap the setting within a round.\n", unit.Plural(len(r.Groups[0]), "pod"))
	return err
}

func largest(values []float64) float64 {
	most := math.NaN()
	for _, v := range values {
		if !(v <= most) {
			most = v
		}
	}
	return most
}

// median leaves out what is not a number: a quantile of no requests.
func median(values []float64) float64 {
	return stat.Median(slices.DeleteFunc(slices.Clone(values), math.IsNaN))
}
