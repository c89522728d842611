package act

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
)

// A Collector is what client_golang registers for an actor.
type Collector struct {
	Node  string
	Actor *Actor
}

var (
	bytesDesc    = prometheus.NewDesc(metrics.CollapsedBytes, "Heap that was put on huge pages.", metrics.WorkloadLabels, nil)
	spentDesc    = prometheus.NewDesc(metrics.CollapseCPUSeconds, "Time in the kernel that this took.", metrics.WorkloadLabels, nil)
	givenDesc    = prometheus.NewDesc(metrics.SetProcesses, "Processes with settings of the policy.", metrics.WorkloadLabels, nil)
	gogcDesc     = prometheus.NewDesc(metrics.SetGOGC, "GOGC that was set, the least of the container.", metrics.WorkloadLabels, nil)
	limitDesc    = prometheus.NewDesc(metrics.SetGOMEMLIMIT, "GOMEMLIMIT that was set, the least of the container.", metrics.WorkloadLabels, nil)
	refusedDesc  = prometheus.NewDesc(metrics.SetRefused, "Processes without the settings of the policy, by reason.", append(metrics.WorkloadLabels[:4:4], metrics.LabelReason), nil)
	diesDesc     = prometheus.NewDesc(metrics.ThrashEvents, "How often a process died by GC: its memory limit had the GC run all the time.", metrics.WorkloadLabels, nil)
	changesDesc  = prometheus.NewDesc(metrics.SetChanges, "Changes of settings, by what was done.", []string{metrics.LabelNode, metrics.LabelChange}, nil)
	refusalsDesc = prometheus.NewDesc(metrics.SetRefusals, "How often settings were refused, by reason.", []string{metrics.LabelNode, metrics.LabelReason}, nil)
	stopsDesc    = prometheus.NewDesc(metrics.CollapseStops, "How often it was stopped or not begun, by reason.", []string{metrics.LabelNode, metrics.LabelReason}, nil)
)

// Describe is of prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	to <- bytesDesc
	to <- spentDesc
	to <- stopsDesc
	for _, d := range []*prometheus.Desc{givenDesc, diesDesc, gogcDesc, limitDesc, refusedDesc, changesDesc, refusalsDesc} {
		to <- d
	}
}

// Collect is of prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	work, stops := c.Actor.Done()
	for l, w := range work {
		labels := []string{l.Namespace, l.Pod, l.Container, c.Node}
		to <- prometheus.MustNewConstMetric(bytesDesc, prometheus.CounterValue, float64(w.Bytes), labels...)
		to <- prometheus.MustNewConstMetric(spentDesc, prometheus.CounterValue, w.Spent.Seconds(), labels...)
	}
	for _, reason := range Reasons {
		to <- prometheus.MustNewConstMetric(stopsDesc, prometheus.CounterValue, float64(stops[reason]), c.Node, reason)
	}
	if c.Actor.Sentry != nil {
		for l, n := range c.Actor.Sentry.Dies() {
			to <- prometheus.MustNewConstMetric(diesDesc, prometheus.CounterValue, float64(n), l.Namespace, l.Pod, l.Container, c.Node)
		}
	}
	if c.Actor.Keeper != nil {
		c.settings(to, c.Actor.Keeper.Settings())
	}
}

func (c *Collector) settings(to chan<- prometheus.Metric, s Settings) {
	for l, g := range s.Containers {
		labels := []string{l.Namespace, l.Pod, l.Container, c.Node}
		to <- prometheus.MustNewConstMetric(givenDesc, prometheus.GaugeValue, float64(g.Processes), labels...)
		if !math.IsNaN(g.GOGC) {
			to <- prometheus.MustNewConstMetric(gogcDesc, prometheus.GaugeValue, g.GOGC, labels...)
		}
		if !math.IsNaN(g.GOMEMLIMIT) {
			to <- prometheus.MustNewConstMetric(limitDesc, prometheus.GaugeValue, g.GOMEMLIMIT, labels...)
		}
		for reason, n := range g.Refused {
			to <- prometheus.MustNewConstMetric(refusedDesc, prometheus.GaugeValue, float64(n), append(labels[:4:4], reason)...)
		}
	}
	for _, change := range Changes {
		to <- prometheus.MustNewConstMetric(changesDesc, prometheus.CounterValue, float64(s.Changes[change]), c.Node, change)
	}
	for _, reason := range Refusals {
		to <- prometheus.MustNewConstMetric(refusalsDesc, prometheus.CounterValue, float64(s.Refusals[reason]), c.Node, reason)
	}
}
