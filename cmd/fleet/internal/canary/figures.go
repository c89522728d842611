package canary

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/fleet/internal/prom"
)

// Figures are those of a pod in a block.
type Figures struct {
	CPU  float64  `json:"cpu_seconds"`
	Work float64  `json:"work"` // requests, or bytes allocated
	RSS  float64  `json:"peak_rss_bytes"`
	P99  *float64 `json:"p99_seconds,omitempty"` // median
}

// A Block is a time in which one group had the setting.
type Block struct {
	Round   int                `json:"round"` // from 0
	With    int                `json:"group"` // that had it
	Begin   time.Time          `json:"begin"`
	Counted time.Time          `json:"counted_from"`
	End     time.Time          `json:"end"`
	Pods    map[string]Figures `json:"pods"`
}

// step is that of ranges: no shorter than it is of use.
func (c *Canary) step() time.Duration { return min(5*time.Second, max(c.Block/20, time.Millisecond)) }

// named selects a series of the pods that take part.
func (c *Canary) named(name string, more ...prom.Match) string {
	var pods []string
	for _, g := range c.Groups() {
		pods = append(pods, g...)
	}
	return c.Source.Select(name, append([]prom.Match{
		{Label: metrics.LabelNamespace, Value: c.Name.Namespace}, {Label: metrics.LabelContainer, Value: c.Name.Container},
		{Label: metrics.LabelPod, Value: prom.AnyOf(pods), Regexp: true},
	}, more...)...)
}

// by asks for a value of each pod.
func (c *Canary) by(ctx context.Context, query string) (map[string]float64, error) {
	samples, err := c.Source.Instant(ctx, query, time.Time{})
	if err != nil {
		return nil, err
	}
	out := make(map[string]float64, len(samples))
	for _, s := range samples {
		out[s.Labels[metrics.LabelPod]] = s.Value
	}
	return out, nil
}

// known checks that the server has what is to be compared.
func (c *Canary) known(ctx context.Context) error {
	name, query := metrics.AllocatedBytes, "sum by (pod) ("+c.named(metrics.AllocatedBytes)+")"
	if c.Requests != "" {
		name, query = "--requests", c.Requests
	}
	for _, q := range []struct{ name, query string }{
		{metrics.CPUSeconds, "sum by (pod) (" + c.named(metrics.CPUSeconds) + ")"}, {name, query}, {"--errors", c.Errors}, {"--p99", c.P99},
	} {
		if q.query == "" {
			continue
		}
		values, err := c.by(ctx, q.query)
		if err != nil {
			return err
		}
		for _, g := range c.Groups() {
			for _, pod := range g {
				if _, ok := values[pod]; !ok && q.name != "--errors" { // none before the first
					return fmt.Errorf("the server has no %s of pod %s: is folio-agent on its node, and scraped with honor_labels? Queries of your own need the label pod", q.name, pod)
				}
			}
		}
	}
	return nil
}

// increase is what counters rose by between two times, by pod. A counter that begins again rises
// from 0.
func (c *Canary) increase(ctx context.Context, query string, from, to time.Time) (map[string]float64, error) {
	all, err := c.Source.Range(ctx, query, from.Add(c.skew), to.Add(c.skew), c.step())
	if err != nil {
		return nil, err
	}
	out := make(map[string]float64)
	for _, s := range all {
		rose := 0.0
		for i := 1; i < len(s.Values); i++ {
			d := s.Values[i] - s.Values[i-1]
			if d < 0 {
				d = s.Values[i]
			}
			rose += d
		}
		if len(s.Values) > 1 {
			out[s.Labels[metrics.LabelPod]] += rose
		}
	}
	return out, nil
}

// over is the largest value of each pod between two times, or the median.
func (c *Canary) over(ctx context.Context, query string, from, to time.Time, of func([]float64) float64) (map[string]float64, error) {
	all, err := c.Source.Range(ctx, query, from.Add(c.skew), to.Add(c.skew), c.step())
	if err != nil {
		return nil, err
	}
	out := make(map[string]float64)
	for _, s := range all {
		if v := of(s.Values); !math.IsNaN(v) {
			out[s.Labels[metrics.LabelPod]] = v
		}
	}
	return out, nil
}

// measure returns the figures of all pods between two times.
func (c *Canary) measure(ctx context.Context, from, to time.Time) (map[string]Figures, error) {
	work, cpu := c.Requests, metrics.CPUSeconds
	if work == "" {
		work, cpu = c.named(metrics.AllocatedBytes), metrics.AllocatingCPUSeconds
	}
	seconds, err := c.increase(ctx, c.named(cpu), from, to)
	if err != nil {
		return nil, err
	}
	done, err := c.increase(ctx, work, from, to)
	if err != nil {
		return nil, err
	}
	rss, err := c.over(ctx, "sum by (pod) ("+c.named(metrics.ResidentBytes)+")", from, to, largest)
	if err != nil {
		return nil, err
	}
	var p99 map[string]float64
	if c.P99 != "" {
		if p99, err = c.over(ctx, c.P99, from, to, median); err != nil {
			return nil, err
		}
	}
	out := make(map[string]Figures)
	for _, g := range c.Groups() {
		for _, pod := range g {
			f := Figures{CPU: seconds[pod], Work: done[pod], RSS: rss[pod]}
			if f.CPU <= 0 || f.RSS <= 0 {
				return nil, stop("the server has no figures of pod %s for a whole block", pod)
			}
			if v, ok := p99[pod]; ok {
				f.P99 = &v
			}
			out[pod] = f
		}
	}
	return out, nil
}
