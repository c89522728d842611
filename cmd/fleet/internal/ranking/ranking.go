// Package ranking ranks the workloads of a fleet by what they lose to memory: CPU time
// that managing memory takes, memory that is requested and never used, and what both cost.
package ranking

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/prom"
	"github.com/foliomem/folio/cmd/fleet/internal/rules"
	"github.com/foliomem/folio/internal/base/unit"
)

// HoursPerMonth is what the cost of a month counts.
const HoursPerMonth = 730

// Prices are of one hour of a core and of a GiB.
type Prices struct {
	CoreHour float64 `json:"core_hour"`
	GiBHour  float64 `json:"gib_hour"`
}

// An ID names a workload's container.
type ID struct {
	Namespace string `json:"namespace"`
	Workload  string `json:"workload"`
	Kind      string `json:"kind"`
	Container string `json:"container"`
}

// String returns NAMESPACE/WORKLOAD:CONTAINER, as folio-fleet recommend takes it.
func (id ID) String() string { return id.Namespace + "/" + id.Workload + ":" + id.Container }

// IDOf is the workload of a series.
func IDOf(labels map[string]string) ID {
	return ID{labels["namespace"], labels[rules.LabelWorkload], labels[rules.LabelWorkloadKind], labels["container"]}
}

// A Row is what one workload loses. Figures are means over the window in which the rules
// were evaluated, also of the time in which it did not run. Nil is not known.
type Row struct {
	ID
	Source    rules.Source       `json:"source"` // of the CPU time
	Pods      float64            `json:"pods"`   // now
	CPU       *float64           `json:"cpu_cores"`
	Tax       *float64           `json:"memory_tax_cores"`
	TaxShare  *float64           `json:"memory_tax_share"`
	Classes   map[string]float64 `json:"memory_tax_cores_by_class,omitempty"`
	Unused    *float64           `json:"unused_memory_bytes"` // requested, and used at no time in the window
	Bloat     *float64           `json:"heap_bloat_bytes"`    // on huge pages, and empty
	LostBytes *float64           `json:"lost_memory_bytes"`   // both
	Money     *float64           `json:"lost_money_per_month"`
	Partial   []string           `json:"partial,omitempty"` // why figures are incomplete
}

// A Ranking is the answer.
type Ranking struct {
	Now       time.Time `json:"time"` // by the server's clock
	Window    string    `json:"window"`
	Prices    Prices    `json:"prices"`
	Queries   int       `json:"queries"`
	Partial   []string  `json:"partial,omitempty"`
	Workloads []Row     `json:"workloads"`
	Left      int       `json:"workloads_left_off"`
	Total     Total     `json:"total"`
}

// A Total is of all workloads, also of those that are left off.
type Total struct {
	Workloads int     `json:"workloads"`
	CPU       float64 `json:"cpu_cores"`
	Tax       float64 `json:"memory_tax_cores"`
	LostBytes float64 `json:"lost_memory_bytes"`
	Money     float64 `json:"lost_money_per_month"`
}

// By says what workloads are ranked by.
type By string

// Orders.
const (
	ByMoney By = "money"
	ByCores By = "cores"
	ByGiB   By = "gib"
)

// Options of a ranking.
type Options struct {
	Window    time.Duration
	Prices    Prices
	By        By
	Limit     int
	Namespace string // "" is all
}

// A question is of a figure over the window, or as it is now.
type question struct {
	to         *gathered
	over, name string
}

// gathered is what was asked, by workload and source.
type gathered map[ID]map[rules.Source]float64

// Ask ranks the workloads of a server. It sends 8 queries, two at a time, and one more for
// the classes of the workloads that it returns.
func Ask(ctx context.Context, c *prom.Client, o Options) (*Ranking, error) {
	status, err := c.Status(ctx, o.Window)
	if err != nil {
		return nil, err
	}
	r := &Ranking{Now: status.Now, Window: prom.Duration(o.Window), Prices: o.Prices, Partial: status.Notes}
	var match []prom.Match
	if o.Namespace != "" {
		match = append(match, prom.Match{Label: "namespace", Value: o.Namespace})
	}
	ask := func(over, name string) (gathered, error) {
		figure := c.Select(name, match...)
		if over != "" {
			figure = over + "(" + figure + "[" + r.Window + "])"
		}
		samples, err := c.Instant(ctx, fmt.Sprintf("max by (%s, source) (%s)", strings.Join(rules.By, ", "), figure), status.Now)
		if err != nil {
			return nil, err
		}
		g := gathered{}
		for _, s := range samples {
			if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
				continue
			}
			id := IDOf(s.Labels)
			if g[id] == nil {
				g[id] = map[rules.Source]float64{}
			}
			g[id][rules.Source(s.Labels[rules.LabelSource])] = s.Value
		}
		return g, nil
	}
	// Those that read the whole window are few: they take nearly all of the time.
	var of figures
	all, failed := sync.WaitGroup{}, make([]error, 2)
	for i, half := range [2][]question{
		{{&of.present, "count_over_time", rules.Pods}, {&of.cpu, "sum_over_time", rules.CPUCores}, {&of.pods, "", rules.Pods}, {&of.unread, "", rules.Unread}},
		{{&of.tax, "sum_over_time", rules.TaxTotal}, {&of.unused, "min_over_time", rules.Unused}, {&of.bloat, "sum_over_time", rules.Bloat}},
	} {
		all.Go(func() {
			for _, q := range half {
				if *q.to, failed[i] = ask(q.over, q.name); failed[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	for id := range of.present {
		r.Workloads = append(r.Workloads, of.row(id, status.Count, o.Prices))
	}
	r.finish(o)
	if err := r.classes(ctx, c, status); err != nil {
		return nil, err
	}
	for _, w := range c.Warnings() {
		r.Partial = append(r.Partial, "the server warns: "+w)
	}
	r.Queries = c.Queries()
	return r, nil
}

// figures are the answers, by workload and source.
type figures struct{ pods, present, cpu, tax, unused, bloat, unread gathered }

// best is the figure of the most exact source that has one.
func (g gathered) best(id ID) (float64, rules.Source, bool) {
	for _, s := range rules.Sources {
		if v, ok := g[id][s]; ok {
			return v, s, true
		}
	}
	return 0, "", false
}

func ptr(v float64) *float64 { return &v }

func (f *figures) row(id ID, count float64, prices Prices) Row {
	w := Row{ID: id}
	w.Pods, _, _ = f.pods.best(id)
	present, _, _ := f.present.best(id)
	if v, s, ok := f.cpu.best(id); ok {
		w.CPU, w.Source = ptr(v/count), s
	}
	money, known := 0.0, false
	note := func(format string, args ...any) { w.Partial = append(w.Partial, fmt.Sprintf(format, args...)) }
	switch v, s, ok := f.tax.best(id); {
	case !ok:
		note("CPU time of memory is not known: no agent, and the program does not export go_cpu_classes_gc_total_cpu_seconds_total")
	default:
		w.Tax = ptr(v / count)
		money, known = v/count*prices.CoreHour, true
		if cpu, ok := f.cpu[id][s]; ok && cpu > 0 {
			w.TaxShare = ptr(v / cpu)
		}
		if s == rules.Application {
			note("GC only: page faults and allocation need the agent")
		}
	}
	if v, _, ok := f.unused.best(id); ok {
		// What ran for an hour of a day lost it for an hour.
		w.Unused = ptr(v * min(present/count, 1))
	} else {
		note("no memory request is known")
	}
	if v, _, ok := f.bloat.best(id); ok {
		w.Bloat = ptr(v / count)
	}
	if w.Unused != nil || w.Bloat != nil {
		lost := 0.0
		for _, v := range []*float64{w.Unused, w.Bloat} {
			if v != nil {
				lost += *v
			}
		}
		w.LostBytes, known = ptr(lost), true
		money += lost / (1 << 30) * prices.GiBHour
	}
	if known {
		w.Money = ptr(money * HoursPerMonth)
	}
	f.coverage(id, count, note)
	return w
}

// coverage says what of a workload is missing.
func (f *figures) coverage(id ID, count float64, note func(string, ...any)) {
	agent, all := f.pods[id][rules.Agent], max(f.pods[id][rules.CAdvisor], f.pods[id][rules.Application])
	if agent > 0 && agent < .95*all {
		note("the agent sees %s of its pods", unit.Percent(agent/all))
	}
	if present, _, _ := f.present.best(id); present < .95*count-2 {
		note("it has figures for %s of the window", unit.Percent(present/count))
	}
	if v, _, ok := f.unread.best(id); ok && v > 0 {
		note("the heap of %.0f of its processes could not be read", v)
	}
}

// finish sorts, adds up and leaves off.
func (r *Ranking) finish(o Options) {
	key := func(w *Row) float64 {
		v := w.Money
		switch o.By {
		case ByCores:
			v = w.Tax
		case ByGiB:
			v = w.LostBytes
		}
		if v == nil {
			return -1
		}
		return *v
	}
	slices.SortFunc(r.Workloads, func(a, b Row) int {
		return cmp.Or(cmp.Compare(key(&b), key(&a)), cmp.Compare(a.ID.String(), b.ID.String()), cmp.Compare(a.Kind, b.Kind))
	})
	r.Total.Workloads = len(r.Workloads)
	for i := range r.Workloads {
		w := &r.Workloads[i]
		for _, sum := range []struct {
			to *float64
			v  *float64
		}{{&r.Total.CPU, w.CPU}, {&r.Total.Tax, w.Tax}, {&r.Total.LostBytes, w.LostBytes}, {&r.Total.Money, w.Money}} {
			if sum.v != nil {
				*sum.to += *sum.v
			}
		}
	}
	if o.Limit > 0 && len(r.Workloads) > o.Limit {
		r.Left = len(r.Workloads) - o.Limit
		r.Workloads = r.Workloads[:o.Limit]
	}
}

// maxNamed is the most workloads whose classes are asked for: their names are in the query.
const maxNamed = 100

// classes asks for the memory tax by class of the first workloads of the ranking.
func (r *Ranking) classes(ctx context.Context, c *prom.Client, status prom.Status) error {
	at := map[ID]*Row{}
	var names []string
	for i := range r.Workloads {
		if w := &r.Workloads[i]; w.Tax != nil && len(at) < maxNamed {
			at[w.ID] = w
			if !slices.Contains(names, w.Workload) {
				names = append(names, w.Workload)
			}
		}
	}
	if len(at) == 0 {
		return nil
	}
	selector := c.Select(rules.TaxCores, prom.Match{Label: rules.LabelWorkload, Value: prom.AnyOf(names), Regexp: true})
	samples, err := c.Instant(ctx, fmt.Sprintf("max by (%s, source, class) (sum_over_time(%s[%s]))", strings.Join(rules.By, ", "), selector, r.Window), status.Now)
	if err != nil {
		return err
	}
	type from struct {
		ID
		source rules.Source
	}
	classes := map[from]map[string]float64{}
	for _, s := range samples {
		if math.IsNaN(s.Value) {
			continue
		}
		f := from{IDOf(s.Labels), rules.Source(s.Labels[rules.LabelSource])}
		if classes[f] == nil {
			classes[f] = map[string]float64{}
		}
		classes[f][s.Labels["class"]] = s.Value / status.Count
	}
	for id, w := range at {
		for _, s := range rules.Sources {
			if w.Classes == nil {
				w.Classes = classes[from{id, s}]
			}
		}
	}
	return nil
}
