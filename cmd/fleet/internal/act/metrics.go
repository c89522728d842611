package act

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
)

// A Collector is what client_golang registers for an actor.
type Collector struct {
	Node  string
	Actor *Actor
}

var (
	bytesDesc = prometheus.NewDesc(metrics.CollapsedBytes, "Heap that was put on huge pages.", metrics.WorkloadLabels, nil)
	spentDesc = prometheus.NewDesc(metrics.CollapseCPUSeconds, "Time in the kernel that this took.", metrics.WorkloadLabels, nil)
	stopsDesc = prometheus.NewDesc(metrics.CollapseStops, "How often it was stopped or not begun, by reason.", []string{metrics.LabelNode, metrics.LabelReason}, nil)
)

// Describe is of prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	to <- bytesDesc
	to <- spentDesc
	to <- stopsDesc
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
}
