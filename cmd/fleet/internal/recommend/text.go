package recommend

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// Text prints the advice about a workload. Names and notes come from outside: they are
// escaped.
func (a *Advice) Text(w io.Writer, name string, partial []string) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s: %s", console.Line(name), a.summary())
	for _, p := range partial {
		line("partial: %s", console.Line(p))
	}
	line("")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tnow\tadvised\t")
	row := func(name, now, then string) {
		if then == "" || then == now {
			then = "not changed"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t\n", name, now, then)
	}
	p, n := a.Present, a.Advised
	gogc := p.GOGC
	if gogc == "" {
		gogc = "unknown"
	}
	row("GOGC", gogc, n.GOGC)
	row("GOMEMLIMIT", size(p.GOMEMLIMIT), size(n.GOMEMLIMIT))
	row("memory request", size(p.Request), size(n.Request))
	row("memory limit", size(p.Limit), size(n.Limit))
	row("CPU request", cores(p.CPURequest), cores(n.CPURequest))
	if err := t.Flush(); err != nil {
		return err
	}
	line("")
	o := a.Observed
	t = tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "largest pod\tmedian\tp99\tpeak\texpected\t")
	for _, f := range []struct {
		name     string
		s        Spread
		expected float64
	}{{"live heap", o.Live, o.Expected.Live}, {"off the heap", o.OffHeap, o.Expected.OffHeap}, {"page cache", o.PageCache, o.Expected.PageCache}} {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", f.name, unit.Bytes(f.s.Median), unit.Bytes(f.s.P99), unit.Bytes(f.s.Peak), unit.Bytes(f.expected))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	line("")
	if e := a.Effect; e.Cores != nil || e.Memory != nil {
		line("Effect (%.1f pods): %s", o.Pods, strings.Join(a.effects(), ", "))
	}
	line("Confidence: %s (%s)", a.Confidence, console.Line(strings.Join(a.Because, "; ")))
	for _, part := range []struct {
		head  string
		lines []string
	}{{"Safe because", a.Safe}, {"Not known", a.Missing}, {"Warning", a.Warn}} {
		for _, l := range part.lines {
			line("%s: %s", part.head, console.Line(l))
		}
	}
	if a.Huge != nil {
		line("Huge pages: %s", a.Huge.Do)
	}
	line("\nNothing was changed. For a patch: --patch kustomize or --patch helm.")
	_, err := io.WriteString(w, b.String())
	return err
}

// Changes says that there is something to change.
func (a *Advice) Changes() bool {
	p, n := a.Present, a.Advised
	return n.GOGC != p.GOGC || differ(p.GOMEMLIMIT, n.GOMEMLIMIT) || differ(p.Request, n.Request) || differ(p.Limit, n.Limit) || differ(p.CPURequest, n.CPURequest)
}

func differ(a, b *float64) bool { return b != nil && (a == nil || *a != *b) }

func (a *Advice) summary() string {
	switch e := a.effects(); {
	case !a.Changes():
		return "its settings fit; nothing is to be changed"
	case len(e) > 0:
		return strings.Join(e, ", ")
	}
	return "settings that fit what it uses; what they save is not known"
}

// effects are what changes, in words.
func (a *Advice) effects() (out []string) {
	saves := func(v float64, text string) {
		if v >= 0 {
			out = append(out, "saves "+text)
		} else {
			out = append(out, "takes "+text+" more")
		}
	}
	e := a.Effect
	if e.Cores != nil && *e.Cores != 0 {
		saves(*e.Cores, fmt.Sprintf("%.2f cores", max(*e.Cores, -*e.Cores)))
	}
	if e.Memory != nil && *e.Memory != 0 {
		saves(*e.Memory, fmt.Sprintf("%.1f GiB of requests", max(*e.Memory, -*e.Memory)/gib))
	}
	if e.Money != nil && *e.Money != 0 {
		saves(*e.Money, fmt.Sprintf("%.0f a month", max(*e.Money, -*e.Money)))
	}
	if e.Peak != nil && *e.Peak > 0 {
		out = append(out, fmt.Sprintf("up to %s more memory per pod at peak", unit.Bytes(*e.Peak)))
	}
	return out
}

func size(v *float64) string {
	if v == nil {
		return "none"
	}
	return unit.Bytes(*v)
}

func cores(v *float64) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprintf("%.2f", *v)
}

// Span is the days that the advice comes from.
func (a *Advice) Span() string {
	return a.From.UTC().Format(time.DateOnly) + " to " + a.To.UTC().Format(time.DateOnly)
}
