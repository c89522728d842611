package canary

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/fleet/internal/prom"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/base/unit"
)

const (
	// mostMemory is the part of a container's memory limit that may be in use.
	mostMemory = 0.9
	// fewRequests is how many tell a rate of errors.
	fewRequests = 100
	// slowLooks is at how many looks, one after the other, a p99 is too long.
	slowLooks = 2
)

// look checks the pods and the guardrails. settled is whether the setting must be in effect.
func (c *Canary) look(ctx context.Context, with int, settled bool, from time.Time) error {
	if err := c.same(ctx); err != nil {
		return err
	}
	if err := c.memory(ctx); err != nil {
		return err
	}
	if settled {
		if err := c.taken(ctx, with); err != nil {
			return err
		}
		if err := c.errors(ctx, from); err != nil {
			return err
		}
	}
	return c.latency(ctx)
}

// memory checks RSS, and what is charged to containers against their limits.
func (c *Canary) memory(ctx context.Context) error {
	used, err := c.by(ctx, fmt.Sprintf("max by (pod) ((%s - %s) / %s)", c.named(metrics.CgroupMemoryBytes), c.named(metrics.CgroupPageCacheBytes), c.named(metrics.CgroupMemoryLimitBytes)))
	if err != nil {
		return err
	}
	for pod, v := range used {
		if v > mostMemory {
			return stop("pod %s uses %s of its memory limit, more than %s", pod, unit.Percent(v), unit.Percent(mostMemory))
		}
	}
	rss, err := c.by(ctx, "sum by (pod) ("+c.named(metrics.ResidentBytes)+")")
	if err != nil {
		return err
	}
	for _, g := range c.Groups() {
		for _, pod := range g {
			v, ok := rss[pod]
			switch {
			case !ok:
				return stop("the server has no figures of pod %s any more", pod)
			case c.MaxRSS > 0 && v > float64(c.MaxRSS):
				return stop("pod %s has an RSS of %s, more than --max-rss %s", pod, unit.Bytes(v), unit.Exact(c.MaxRSS))
			}
		}
	}
	return nil
}

// taken checks that the pods of one group have the setting, and those of the other do not.
func (c *Canary) taken(ctx context.Context, with int) error {
	set, err := c.by(ctx, "sum by (pod) ("+c.named(metrics.SetProcesses)+")")
	if err != nil {
		return err
	}
	var gogc map[string]float64
	if c.GOGC != "" {
		if gogc, err = c.by(ctx, fmt.Sprintf("min by (pod) (%s == bool %s)", c.named(metrics.SetGOGC), strings.Replace(c.GOGC, "off", "+Inf", 1))); err != nil {
			return err
		}
	}
	for _, m := range c.groups[with] {
		if has, ok := gogc[m.name]; set[m.name] < 1 || ok && has == 0 {
			return stop("pod %s did not get the setting%s", m.name, c.refused(ctx, m.name))
		}
	}
	for _, m := range c.groups[1-with] {
		if gogc[m.name] == 1 {
			return stop("pod %s still has GOGC=%s after %v, or a rule of the policy gives it the same", m.name, c.GOGC, c.Settle)
		}
	}
	return nil
}

// refused says why a pod did not get the setting.
func (c *Canary) refused(ctx context.Context, pod string) string {
	samples, err := c.Source.Instant(ctx, c.named(metrics.SetRefused, prom.Match{Label: metrics.LabelPod, Value: pod})+" > 0", time.Time{})
	if err == nil && len(samples) > 0 {
		return ": folio-agent act refused it (" + samples[0].Labels[metrics.LabelReason] + "); its log says why"
	}
	return ": does folio-agent act run on its node, is it scraped, does its policy name a label for canary, and has the pod that label?"
}

// errors checks the part of requests that failed since a time, in the group that has the setting
// as in the other: either way it is not the time for a comparison.
func (c *Canary) errors(ctx context.Context, from time.Time) error {
	if c.MaxErrors == nil {
		return nil
	}
	now := time.Now()
	failed, err := c.increase(ctx, c.Errors, from, now)
	if err != nil {
		return err
	}
	all, err := c.increase(ctx, c.Requests, from, now)
	if err != nil {
		return err
	}
	for pod, n := range all {
		if n < fewRequests {
			continue
		}
		lo, _ := stat.Proportion(min(failed[pod]/n, 1), n)
		if !c.MaxErrors.Allows(int64(lo*n), int64(n)) {
			return stop("%.0f of %.0f requests to pod %s failed, more than --max-errors %s", failed[pod], n, pod, c.MaxErrors.Text)
		}
	}
	return nil
}

// latency checks p99.
func (c *Canary) latency(ctx context.Context) error {
	if c.MaxP99 == 0 {
		return nil
	}
	p99, err := c.by(ctx, c.P99)
	if err != nil {
		return err
	}
	slow := ""
	for pod, v := range p99 {
		if v > c.MaxP99.Seconds() {
			slow = fmt.Sprintf("pod %s has a p99 of %s, more than --max-p99 %s", pod, unit.Seconds(v), unit.Span(c.MaxP99))
		}
	}
	if c.slow++; slow == "" {
		c.slow = 0
	}
	if c.slow >= slowLooks {
		return stop("%s", slow)
	}
	return nil
}
