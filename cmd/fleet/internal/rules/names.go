package rules

// Labels of recorded series, besides those of package metrics.
const (
	LabelWorkload     = "workload"
	LabelWorkloadKind = "workload_kind"
	LabelSource       = "source"
)

// By are the labels of every series about a workload.
var By = []string{"namespace", LabelWorkload, LabelWorkloadKind, "container"}

// A Source is where the figures of a recorded series come from.
type Source string

// Sources. Kube is kube-state-metrics: requests, limits and owners.
const (
	Agent       Source = "agent"
	Application Source = "application"
	CAdvisor    Source = "cadvisor"
	Kube        Source = "kube"
)

// Sources are all, the most exact first.
var Sources = []Source{Agent, Application, CAdvisor, Kube}

// Recorded series. Those of a workload have the labels [By] and [LabelSource]. Max and min
// are over its pods, and for gauges also over the last 5 minutes.
const (
	// Info is 1 where the rules run. Labels: version (of the rules), interval (seconds).
	Info = "folio:rules:info"
	// ContainerInfo says of which workload a container with Go processes is. Labels:
	// namespace, pod, container, workload, workload_kind. It has no source.
	ContainerInfo = "namespace_pod_container:folio_workload:info"

	Pods       = "workload:folio_pods:count"
	CPUCores   = "workload:folio_cpu_cores:sum"
	CPUMax     = "workload:folio_cpu_cores:max" // of one pod
	TaxCores   = "workload:folio_memory_tax_cores:sum"
	TaxTotal   = "workload:folio_memory_tax_cores:total" // of all classes
	GCCycles   = "workload:folio_gc_cycles_per_second:sum"
	LiveHeap   = "workload:folio_live_heap_bytes:max"
	Heap       = "workload:folio_heap_resident_bytes:max"
	HeapSum    = "workload:folio_heap_resident_bytes:sum"
	OffHeap    = "workload:folio_off_heap_bytes:max" // what a container is charged for without the heap and page cache
	PageCache  = "workload:folio_page_cache_bytes:max"
	Memory     = "workload:folio_memory_bytes:max" // charged, page cache included
	MemorySum  = "workload:folio_memory_bytes:sum"
	Limit      = "workload:folio_memory_limit_bytes:min"
	Request    = "workload:folio_memory_request_bytes:max"
	Unused     = "workload:folio_unused_memory_bytes:sum" // requested, and not charged in 5 minutes
	CPURequest = "workload:folio_cpu_request_cores:max"
	CPULimit   = "workload:folio_cpu_limit_cores:min"
	Throttled  = "workload:folio_throttled_periods:ratio"
	OOMKills   = "workload:folio_oom_kills:increase5m"
	GOGCMin    = "workload:folio_gogc_percent:min"
	GOGCMax    = "workload:folio_gogc_percent:max"
	GOMEMLIMIT = "workload:folio_gomemlimit_bytes:min"
	GoVersions = "workload:folio_go_version:count" // pods by go_version
	Huge       = "workload:folio_heap_huge_bytes:sum"
	HugeGain   = "workload:folio_heap_gain_bytes:sum"
	Bloat      = "workload:folio_heap_bloat_bytes:sum"
	Unread     = "workload:folio_unread_processes:sum"
	Init       = "workload:folio_init_container:max" // 1 for a native sidecar, which is one
)

// ClassGC is the class of TaxCores from an application's own metrics, which have no others.
const ClassGC = "gc"

// Version is of the meaning of the recorded series.
const Version = "1"

// Off and Unlimited are the least values of GOGC and GOMEMLIMIT that say off and none: the
// agent has +Inf, the Go runtime the largest integer.
const (
	Off       = 1e9
	Unlimited = 1 << 60
)
