// Package exposition turns the account of a node into Prometheus metrics: those of package
// metrics, and no others.
package exposition

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
)

// Own is what the agent says of itself.
type Own struct {
	Version       string
	CPUSeconds    float64
	ResidentBytes *uint64
	Sampling      float64           // share of time
	Samples       map[string]uint64 // by outcome
}

// A Source gives both at a scrape.
type Source interface {
	Snapshot() *node.Snapshot
	Own() Own
}

// A Collector is what client_golang registers.
type Collector struct {
	node   string
	source Source
	descs  map[string]*prometheus.Desc
}

type described struct {
	name, help string
	labels     []string
}

var workload = metrics.WorkloadLabels

func with(more ...string) []string { return append(append([]string(nil), workload...), more...) }

func of(more ...string) []string { return append([]string{metrics.LabelNode}, more...) }

var all = []described{
	{metrics.CPUSeconds, "CPU time of the Go processes of the container.", workload},
	{metrics.MemoryTaxCPUSeconds, "CPU time that managing memory cost, by class; sampled.", with(metrics.LabelClass)},
	{metrics.SampledCPUSeconds, "CPU time that the samples of folio_memory_tax_cpu_seconds_total speak for.", workload},
	{metrics.AllocatedBytes, "What the Go processes allocated in their heaps.", workload},
	{metrics.AllocatingCPUSeconds, "CPU time that folio_allocated_bytes_total speaks for.", workload},
	{metrics.PageFaults, "Page faults of the Go processes, by kind.", with(metrics.LabelKind)},
	{metrics.ResidentBytes, "RSS of the Go processes, by kind.", with(metrics.LabelKind)},
	{metrics.HeapResidentBytes, "Go heap in RAM.", workload},
	{metrics.HeapHugeBytes, "Go heap on huge pages.", workload},
	{metrics.HeapBloatBytes, "Part of the Go heap on huge pages that holds nothing but zeros: an upper bound, from some of the pages.", workload},
	{metrics.HeapGainBytes, "Part of the Go heap on small pages, in dense windows, that could be on huge pages.", workload},
	{metrics.LiveHeapBytes, "Heap that the last GC cycle found in use.", workload},
	{metrics.HeapGoalBytes, "Heap size at which the next GC cycle ends, by GOGC.", workload},
	{metrics.GCCycles, "Completed GC cycles.", workload},
	{metrics.GOGCPercent, "GOGC in effect; +Inf is off.", workload},
	{metrics.GOMEMLIMITBytes, "GOMEMLIMIT in effect; +Inf is none.", workload},
	{metrics.GoProcesses, "Running Go processes.", workload},
	{metrics.UnreadProcesses, "Running Go processes whose heap or runtime is not in the sums.", workload},
	{metrics.GoInfo, "What the program was built from.", with(metrics.LabelGoVersion, metrics.LabelModule, metrics.LabelModuleVersion)},
	{metrics.CgroupMemoryLimitBytes, "Memory limit of the container; +Inf is none.", workload},
	{metrics.CgroupMemoryBytes, "Memory charged to the container, page cache included.", workload},
	{metrics.CgroupPageCacheBytes, "Page cache charged to the container, without shared memory.", workload},
	{metrics.CgroupChargedBytes, "Memory charged to the container, by what it is.", with(metrics.LabelPart)},
	{metrics.CgroupCPUSeconds, "CPU time of all processes of the container.", workload},
	{metrics.CgroupCPULimitCores, "CPU limit of the container; +Inf is none.", workload},
	{metrics.AgentInfo, "Version of the agent.", of(metrics.LabelVersion)},
	{metrics.AgentCPUSeconds, "CPU time of the agent.", of()},
	{metrics.AgentResidentBytes, "RSS of the agent.", of()},
	{metrics.AgentKubernetesSynced, "1 if the Kubernetes API gave the pods of the node.", of()},
	{metrics.AgentPods, "Pods of the node that the agent knows.", of()},
	{metrics.AgentProcesses, "Processes of the node, by state.", of(metrics.LabelState)},
	{metrics.AgentProcessesEnded, "Go processes that ended.", of()},
	{metrics.AgentUnreadable, "Looks at processes that failed, by reason.", of(metrics.LabelReason)},
	{metrics.AgentSamples, "Samples, by outcome.", of(metrics.LabelOutcome)},
	{metrics.AgentSampling, "Share of time in which processes are sampled; 0 where they cannot be.", of()},
	{metrics.AgentContainers, "Containers that have series.", of()},
	{metrics.AgentOverflow, "Containers that share the series of _overflow.", of()},
}

// New returns a collector of the metrics of a node.
func New(nodeName string, source Source) *Collector {
	c := &Collector{node: nodeName, source: source, descs: make(map[string]*prometheus.Desc, len(all))}
	for _, d := range all {
		c.descs[d.name] = prometheus.NewDesc(d.name, d.help, d.labels, nil)
	}
	return c
}

// Describe is of prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect is of prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	s := c.source.Snapshot()
	for i := range s.Workloads {
		c.workload(to, &s.Workloads[i])
	}
	c.agent(to, s)
}

func (c *Collector) put(to chan<- prometheus.Metric, kind prometheus.ValueType, name string, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(c.descs[name], kind, v, labels...)
}

func (c *Collector) workload(to chan<- prometheus.Metric, w *node.Workload) {
	labels := []string{w.Namespace, w.Pod, w.Container, c.node}
	gauge := func(name string, v float64, more ...string) {
		c.put(to, prometheus.GaugeValue, name, v, append(labels[:4:4], more...)...)
	}
	counter := func(name string, v float64, more ...string) {
		c.put(to, prometheus.CounterValue, name, v, append(labels[:4:4], more...)...)
	}
	counter(metrics.CPUSeconds, w.CPU)
	counter(metrics.SampledCPUSeconds, w.Sampled)
	for i, class := range metrics.MemoryClasses {
		counter(metrics.MemoryTaxCPUSeconds, w.Tax[i], class)
	}
	counter(metrics.PageFaults, float64(w.MinorFaults), metrics.KindMinor)
	counter(metrics.PageFaults, float64(w.MajorFaults), metrics.KindMajor)
	counter(metrics.GCCycles, float64(w.GCCycles))
	counter(metrics.AllocatedBytes, float64(w.Allocated))
	counter(metrics.AllocatingCPUSeconds, w.Allocating)
	if w.Pod != "" {
		counter(metrics.CgroupCPUSeconds, w.CgroupCPU)
	}
	gauge(metrics.GoProcesses, float64(w.Processes))
	gauge(metrics.UnreadProcesses, float64(w.Unread))
	for kind, v := range w.Resident {
		gauge(metrics.ResidentBytes, v, kind)
	}
	for name, v := range w.Gauges {
		gauge(name, v)
	}
	for part, v := range w.Charged {
		gauge(metrics.CgroupChargedBytes, v, part)
	}
	for _, i := range w.Infos {
		gauge(metrics.GoInfo, 1, i.GoVersion, i.Module, i.Version)
	}
}

func (c *Collector) agent(to chan<- prometheus.Metric, s *node.Snapshot) {
	own := c.source.Own()
	gauge := func(name string, v float64, more ...string) {
		c.put(to, prometheus.GaugeValue, name, v, append([]string{c.node}, more...)...)
	}
	counter := func(name string, v float64, more ...string) {
		c.put(to, prometheus.CounterValue, name, v, append([]string{c.node}, more...)...)
	}
	gauge(metrics.AgentInfo, 1, own.Version)
	counter(metrics.AgentCPUSeconds, own.CPUSeconds)
	if own.ResidentBytes != nil {
		gauge(metrics.AgentResidentBytes, float64(*own.ResidentBytes))
	}
	synced := 0.0
	if s.Synced {
		synced = 1
	}
	gauge(metrics.AgentKubernetesSynced, synced)
	gauge(metrics.AgentPods, float64(s.Pods))
	gauge(metrics.AgentProcesses, float64(s.Stats.Go), metrics.StateGo)
	gauge(metrics.AgentProcesses, float64(s.Stats.NotGo), metrics.StateNotGo)
	gauge(metrics.AgentProcesses, float64(s.Stats.Denied), metrics.StateDenied)
	counter(metrics.AgentProcessesEnded, float64(s.Stats.Ended))
	for _, reason := range []string{node.Denied, node.Vanished, node.Unsupported, node.Failed} {
		counter(metrics.AgentUnreadable, float64(s.Stats.Unreadable[reason]), reason)
	}
	for _, outcome := range metrics.Outcomes {
		counter(metrics.AgentSamples, float64(own.Samples[outcome]), outcome)
	}
	gauge(metrics.AgentSampling, own.Sampling)
	gauge(metrics.AgentContainers, float64(len(s.Workloads)))
	gauge(metrics.AgentOverflow, float64(s.Overflow))
}
