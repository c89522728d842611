// Package workload asks a server what was recorded of one workload, and finds those that
// it may have been renamed to.
package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/observed"
	"github.com/foliomem/folio/cmd/fleet/internal/prom"
	"github.com/foliomem/folio/cmd/fleet/internal/ranking"
	"github.com/foliomem/folio/cmd/fleet/internal/rules"
	"github.com/foliomem/folio/internal/base/console"
)

// maxPoints is the most values of a series that are asked for; Prometheus has a bound of
// 11,000.
const maxPoints = 10_000

// A Name is what a user calls a workload: NAMESPACE/WORKLOAD[:CONTAINER]. Former are names
// that it had before.
type Name struct {
	Namespace, Workload, Container string
	Former                         []string
}

// Parse reads a name.
func Parse(s string) (Name, error) {
	var n Name
	rest, ok := "", false
	n.Namespace, rest, ok = strings.Cut(s, "/")
	n.Workload, n.Container, _ = strings.Cut(rest, ":")
	if !ok || n.Namespace == "" || n.Workload == "" || strings.HasSuffix(s, ":") || strings.Contains(rest, "/") {
		return n, fmt.Errorf("%q: want NAMESPACE/WORKLOAD[:CONTAINER], as folio-fleet top prints them", s)
	}
	return n, nil
}

// An Answer is a history and what there is to know of it.
type Answer struct {
	ID      ranking.ID
	History *observed.History
	Notes   []string // what makes it partial
}

// NotFoundError says that nothing was recorded, and what else there is.
type NotFoundError struct{ text string }

func (e *NotFoundError) Error() string { return e.text }

// Ask asks for the history of a workload over a window. It sends 2 queries, and one more if
// there is none.
func Ask(ctx context.Context, c *prom.Client, n Name, window time.Duration) (*Answer, error) {
	status, err := c.Status(ctx, window)
	if err != nil {
		return nil, err
	}
	step := status.Interval
	if least := window / maxPoints; step < least {
		step = (least/status.Interval + 1) * status.Interval
	}
	match := []prom.Match{
		{Label: "__name__", Value: "workload:folio_.+", Regexp: true},
		{Label: "namespace", Value: n.Namespace},
	}
	if len(n.Former) == 0 {
		match = append(match, prom.Match{Label: rules.LabelWorkload, Value: n.Workload})
	} else {
		match = append(match, prom.Match{Label: rules.LabelWorkload, Value: prom.AnyOf(append([]string{n.Workload}, n.Former...)), Regexp: true})
	}
	if n.Container != "" {
		match = append(match, prom.Match{Label: "container", Value: n.Container})
	}
	from := status.Now.Add(-window).Truncate(step)
	series, err := c.Range(ctx, c.Select("", match...), from, status.Now, step)
	if err != nil {
		return nil, err
	}
	if len(series) == 0 {
		return nil, missing(ctx, c, n, status, window)
	}
	a := &Answer{Notes: status.Notes}
	if a.ID, err = one(series, n); err != nil {
		return nil, err
	}
	a.History = observed.New(from, step, int(window/step)+1)
	first, last := status.Now, from
	for _, s := range series {
		for i, at := range s.Times {
			if at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
			a.History.Put(s.Labels, s.Labels["__name__"], int(at.Sub(from)/step), s.Values[i])
		}
	}
	// Rules that began late are said by the status.
	if began := status.Now.Add(-status.Recorded()); first.Sub(began) > 2*time.Hour && first.Sub(from) > 2*time.Hour {
		a.Notes = append(a.Notes, fmt.Sprintf("it has figures since %s; if it was renamed then, give its former name: --formerly NAME", stamp(first)))
	}
	if status.Now.Sub(last) > time.Hour {
		a.Notes = append(a.Notes, fmt.Sprintf("it has no figures since %s: it does not run any more, or was renamed", stamp(last)))
	}
	for _, w := range c.Warnings() {
		a.Notes = append(a.Notes, "the server warns: "+w)
	}
	return a, nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// one is the workload that the series are of. The kind may have changed: the last counts.
func one(series []prom.Series, n Name) (ranking.ID, error) {
	var containers []string
	id, last := ranking.ID{}, time.Time{}
	for _, s := range series {
		if len(s.Times) == 0 {
			continue
		}
		of := ranking.IDOf(s.Labels)
		if !slices.Contains(containers, of.Container) {
			containers = append(containers, of.Container)
		}
		if at := s.Times[len(s.Times)-1]; of.Workload == n.Workload && !at.Before(last) || id.Workload == "" {
			id, last = of, at
		}
	}
	if len(containers) > 1 {
		slices.Sort(containers)
		return id, fmt.Errorf("%s/%s has several containers with Go programs: give one of %s", n.Namespace, n.Workload, console.Line(strings.Join(few(containers), ", ")))
	}
	return id, nil
}

// few are the first of them.
func few(names []string) []string {
	if len(names) > 10 {
		return append(names[:10:10], fmt.Sprintf("and %d more", len(names)-10))
	}
	return names
}

// missing says that a workload has no figures, and what has.
func missing(ctx context.Context, c *prom.Client, n Name, status prom.Status, window time.Duration) error {
	samples, err := c.Instant(ctx, "group by (namespace, workload, container) (last_over_time("+
		c.Select(rules.Pods, prom.Match{Label: "namespace", Value: n.Namespace})+"["+prom.Duration(window)+"]))", status.Now)
	if err != nil {
		return err
	}
	var near []string
	for _, s := range samples {
		near = append(near, s.Labels[rules.LabelWorkload]+":"+s.Labels["container"])
	}
	text := fmt.Sprintf("%s/%s has no figures in the last %s", n.Namespace, n.Workload, prom.Duration(window))
	if n.Container != "" {
		text += " in container " + n.Container
	}
	if len(near) == 0 {
		return &NotFoundError{text + ", nor has any other workload of this namespace; folio-fleet top prints those that have"}
	}
	slices.SortFunc(near, func(a, b string) int { return common(b, n.Workload) - common(a, n.Workload) })
	return &NotFoundError{text + "; this namespace has " + strings.Join(few(near), ", ")}
}

// common is how long a beginning two names share.
func common(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
