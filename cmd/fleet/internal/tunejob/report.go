package tunejob

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/foliomem/folio/cmd/internal/result/kubernetes"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// find returns the setting with an index.
func (r *Result) find(index int) *Setting {
	for _, s := range r.Settings {
		if s.Index == index {
			return s
		}
	}
	return nil
}

// Answer says in sentences what was found, the first of which is the answer.
func (r *Result) Answer() []string {
	nodes := unit.Plural(r.Measured, "node")
	switch r.State {
	case TooFewNodes:
		return []string{fmt.Sprintf("Nothing is recommended: %s measured with %d rounds or more; at least %d are needed, because what wins on one machine often loses on the next.", nodes, leastPairs, LeastNodes)}
	case KeepDefault:
		return []string{fmt.Sprintf("Keep the default: no setting is better by more than %.0f%% on these %s.", 100*missable, nodes)}
	case Inconclusive:
		return []string{fmt.Sprintf("Inconclusive on %s: no setting is known to be better than the default, and a gain of %.0f%% is not ruled out. More rounds (--rounds) decide.", nodes, 100*missable)}
	}
	s := r.find(r.Best)
	better := 0
	for _, n := range s.Nodes {
		if n.Ratio < 1 {
			better++
		}
	}
	out := []string{
		fmt.Sprintf("Set %s.", s.Name),
		fmt.Sprintf("  %s %s: %s to %s by node, better on %d of %d", r.costName(), unit.Change(s.Ratio), unit.Change(s.Lo), unit.Change(s.Hi), better, len(s.Nodes)),
	}
	if s.MemoryRatio > 0 {
		out = append(out, fmt.Sprintf("  peak RSS %s: %s at most", unit.Change(s.MemoryRatio), unit.Bytes(s.Memory)))
	}
	if s.Setting.THP == trial.THPHeap {
		out = append(out, "  thp=heap is not a variable: start the program with folio exec --thp heap -- (docs/exec.md)")
	}
	return out
}

// costName names what Ratio is of.
func (r *Result) costName() string {
	name, _, _ := strings.Cut(r.Metric, "=")
	if name != r.Metric {
		return name + ", as a cost,"
	}
	return name
}

// Write prints the result. w is a [console.Printer]: names come from outside.
func (r *Result) Write(w io.Writer) error {
	for _, line := range r.Answer() {
		if _, err := fmt.Fprintln(w, console.Line(line)); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\tsetting\t%s vs default\tby node\tpeak RSS\tnodes\t\n", r.costName())
	for _, s := range r.Settings {
		mark := ""
		if s.Index == r.Best && r.State == Recommended {
			mark = ">"
		}
		if s.Index == 0 {
			fmt.Fprintf(table, "%s\t%s\t\t\t%s\t%d\t\n", mark, s.Name, unit.Bytes(s.Memory), r.Measured)
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", mark, console.Line(s.Name), s.change(), s.spread(), change(s.MemoryRatio), len(s.Nodes), console.Line(s.remark()))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, n := range r.Nodes {
		text := fmt.Sprintf("%s: %s", n.Name, unit.Plural(len(n.Rounds), "round"))
		if n.CPU != "" {
			text += ", " + n.CPU
		}
		fmt.Fprintln(w, console.Line(text))
		for _, f := range n.Failed {
			fmt.Fprintln(w, console.Line("  gave up: "+f))
		}
		if len(n.Lost) > 0 {
			fmt.Fprintln(w, console.Line(fmt.Sprintf("  %s lost; the last: %s", unit.Plural(len(n.Lost), "round"), n.Lost[len(n.Lost)-1])))
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintln(w, console.Line("note: "+note))
	}
	return nil
}

func change(ratio float64) string {
	if !(ratio > 0) {
		return "unknown"
	}
	return unit.Change(ratio)
}

func (s *Setting) change() string {
	if !(s.Ratio > 0) {
		return "unknown"
	}
	if !s.Better && math.Abs(math.Log(s.Ratio)) < leastGain {
		return "~"
	}
	return unit.Change(s.Ratio)
}

func (s *Setting) spread() string {
	if len(s.Nodes) == 0 {
		return ""
	}
	return unit.Change(s.Lo) + " to " + unit.Change(s.Hi)
}

// remark says what of a setting the figures do not.
func (s *Setting) remark() string {
	switch {
	case s.Unfit != "":
		return s.Unfit
	case s.Better:
		return "better"
	}
	return ""
}

// Patch puts the recommendation into a patch of a container.
func (r *Result) Patch(target kubernetes.Target, of string) (string, error) {
	if r.State != Recommended {
		return "", fmt.Errorf("there is nothing to make a patch of: %s", r.Answer()[0])
	}
	s := r.find(r.Best)
	p := kubernetes.Patch{Comments: []string{fmt.Sprintf("What folio fleet tune recommends for %s, measured on %s: %s", of, unit.Plural(r.Measured, "node"), s.Name)}}
	p.Set(s.Setting)
	if s.Setting.THP == trial.THPHeap {
		p.Comments = append(p.Comments, "thp=heap is not a variable, and not in this patch: start the program with folio exec --thp heap -- (docs/exec.md)")
	}
	return p.YAML(target)
}
