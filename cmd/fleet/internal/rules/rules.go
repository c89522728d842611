// Package rules makes the recording and alerting rules of Prometheus on which folio-fleet
// asks its questions: one value a workload and figure, so that a question about a week of
// thousands of pods reads few series. Each figure is recorded for each source that has it
// ([Sources]); who asks takes the most exact.
package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Bounds of the interval. Beyond the largest, series would be stale between two
// evaluations: Prometheus looks back for 5 minutes.
const (
	DefaultInterval = 2 * time.Minute
	MinInterval     = 15 * time.Second
	MaxInterval     = 4 * time.Minute
)

// Options of a file of rules.
type Options struct {
	Interval time.Duration
	Sources  []Source
	Alerts   bool
}

// A Rule is one of a file of rules.
type Rule struct {
	Record      string            `json:"record,omitempty"`
	Alert       string            `json:"alert,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Recording are the groups of recording rules.
func (f File) Recording() []Group {
	var out []Group
	for _, g := range f.Groups {
		if len(g.Rules) > 0 && g.Rules[0].Record != "" {
			out = append(out, g)
		}
	}
	return out
}

// A Group is evaluated in order.
type Group struct {
	Name     string `json:"name"`
	Interval string `json:"interval,omitempty"`
	Rules    []Rule `json:"rules"`
}

// A File is what Prometheus loads.
type File struct {
	Groups []Group `json:"groups"`
}

func has(all []Source, s Source) bool { return slices.Contains(all, s) }

// Names are the names of sources, separated by commas.
func Names(sources []Source) string {
	var names []string
	for _, s := range sources {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// New makes the rules. Sources need agent or application: the others do not know which
// containers run Go programs.
func New(o Options) (File, error) {
	switch {
	case o.Interval < MinInterval || o.Interval > MaxInterval || o.Interval%time.Second != 0:
		return File{}, fmt.Errorf("--interval %v: want whole seconds, %v to %v", o.Interval, MinInterval, MaxInterval)
	case !has(o.Sources, Agent) && !has(o.Sources, Application):
		return File{}, fmt.Errorf("--sources: want %s or %s among them: the others do not know which containers run Go programs", Agent, Application)
	}
	for _, s := range o.Sources {
		if !has(Sources, s) {
			return File{}, fmt.Errorf("--sources %q: want some of %s", s, Names(Sources))
		}
	}
	interval := strconv.Itoa(int(o.Interval.Seconds()))
	// Groups are evaluated beside each other.
	every := interval + "s"
	f := File{Groups: []Group{{Name: "folio-containers", Interval: every, Rules: []Rule{
		{Record: Info, Expr: "vector(1)", Labels: map[string]string{"version": Version, "interval": interval}},
		{Record: ContainerInfo, Expr: owners(o.Sources)},
	}}}}
	for _, s := range Sources {
		if !has(o.Sources, s) {
			continue
		}
		g := Group{Name: "folio-" + string(s), Interval: every}
		for _, r := range records() {
			if r.source == s {
				g.Rules = append(g.Rules, Rule{Record: r.name, Expr: r.expr, Labels: map[string]string{LabelSource: string(s)}})
			}
		}
		f.Groups = append(f.Groups, g)
	}
	if !o.Alerts {
		return f, nil
	}
	a := Group{Name: "folio-alerts"}
	for _, r := range alerts() {
		if !slices.ContainsFunc(r.needs, func(s Source) bool { return has(o.Sources, s) }) {
			continue
		}
		a.Rules = append(a.Rules, Rule{Alert: r.name, Expr: r.expr, For: r.pending, Labels: map[string]string{"severity": r.severity},
			Annotations: map[string]string{"summary": r.summary, "description": r.description}})
	}
	f.Groups = append(f.Groups, a)
	return f, nil
}

// YAML returns the file as Prometheus reads it.
func (f File) YAML() ([]byte, error) { return yaml.Marshal(f) }

// Object returns the file as an object for the Prometheus operator.
func (f File) Object(name string) ([]byte, error) {
	return yaml.Marshal(map[string]any{
		"apiVersion": "monitoring.coreos.com/v1",
		"kind":       "PrometheusRule",
		"metadata":   map[string]any{"name": name, "labels": map[string]string{"app.kubernetes.io/name": "folio-fleet"}},
		"spec":       f,
	})
}

// Recorded are the names of the series that the rules make.
func (f File) Recorded() []string {
	var names []string
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			if r.Record != "" && !slices.Contains(names, r.Record) {
				names = append(names, r.Record)
			}
		}
	}
	return names
}
