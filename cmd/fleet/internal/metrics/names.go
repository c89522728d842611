package metrics

// Labels.
const (
	LabelNamespace = "namespace"
	LabelPod       = "pod"       // name, or UID where the name is not known
	LabelContainer = "container" // name in the pod's specification
	LabelNode      = "node"      // name of the Kubernetes node, else of the host

	LabelClass         = "class"          // of MemoryTaxCPUSeconds: see MemoryClasses
	LabelKind          = "kind"           // of PageFaults: minor, major; of ResidentBytes: anon, file, shmem
	LabelGoVersion     = "go_version"     // of GoInfo: go1.26.8
	LabelModule        = "module"         // of GoInfo: path of the main module
	LabelModuleVersion = "module_version" // of GoInfo: v1.2.3, (devel), or empty
	LabelPart          = "part"           // of CgroupChargedBytes: see ChargedParts
	LabelState         = "state"          // of AgentProcesses
	LabelReason        = "reason"
	LabelOutcome       = "outcome"
	LabelVersion       = "version"
	LabelChange        = "change"
)

// WorkloadLabels are the labels of every series about a container, in this order.
var WorkloadLabels = []string{LabelNamespace, LabelPod, LabelContainer, LabelNode}

// Containers of processes outside pods.
const (
	OutsideContainer = "_container" // of docker, podman and the like, all together
	OutsideHost      = "_host"      // services and sessions of the node, all together
	Overflow         = "_overflow"  // containers beyond MaxContainers, all together
)

// Values of LabelKind.
const (
	KindMinor = "minor"
	KindMajor = "major"
	KindAnon  = "anon"
	KindFile  = "file"
	KindShmem = "shmem"
)

// Values of LabelState.
const (
	StateGo     = "go"
	StateNotGo  = "not_go"
	StateDenied = "denied" // what they are may not be read
)

// Outcomes are the values of LabelOutcome: samples that have a class, of Go processes whose
// code has no names, of other processes, and those that the kernel could not deliver.
var Outcomes = []string{OutcomeClassed, OutcomeUnknown, OutcomeOther, OutcomeLost}

// Values of LabelOutcome.
const (
	OutcomeClassed = "classed"
	OutcomeUnknown = "unknown"
	OutcomeOther   = "other"
	OutcomeLost    = "lost"
)

// CPU time.
const (
	// CPUSeconds is the CPU time of the Go processes of a container, by the kernel's
	// accounts. Counter, WorkloadLabels.
	CPUSeconds = "folio_cpu_seconds_total"

	// MemoryTaxCPUSeconds is the CPU time that managing memory cost, by class (the memory
	// classes of folio run). It is sampled: 19 samples a CPU-second in windows, scaled to
	// CPUSeconds. Counter, WorkloadLabels and LabelClass.
	MemoryTaxCPUSeconds = "folio_memory_tax_cpu_seconds_total"

	// SampledCPUSeconds is the part of CPUSeconds that MemoryTaxCPUSeconds speaks for: CPU
	// time of processes that had samples. The memory tax as a share is
	// sum(rate(MemoryTaxCPUSeconds)) / sum(rate(SampledCPUSeconds)). Counter, WorkloadLabels.
	SampledCPUSeconds = "folio_sampled_cpu_seconds_total"
)

// What programs allocate, by their runtimes, read every 30 s: CPU time a byte is the one over
// the other. Counters, WorkloadLabels.
const (
	AllocatedBytes = "folio_allocated_bytes_total"
	// AllocatingCPUSeconds is the part of CPUSeconds that AllocatedBytes speaks for: that
	// between the same readings.
	AllocatingCPUSeconds = "folio_allocating_cpu_seconds_total"
)

// MemoryClasses are the values of LabelClass; those of the GC come first ([GCClasses]).
// They are the identifiers of folio run's results.
var MemoryClasses = []string{"gc_mark", "gc_assist", "gc_sweep", "write_barrier", "allocation", "zeroing", "growth", "page_faults"}

// GCClasses are the classes of the GC share.
var GCClasses = MemoryClasses[:4]

// Memory, as the kernel has it. Gauges with WorkloadLabels, in bytes, unless stated.
const (
	// PageFaults counts page faults. Counter, WorkloadLabels and LabelKind (minor, major).
	PageFaults = "folio_page_faults_total"

	// ResidentBytes is the RSS of the Go processes of a container, by LabelKind (anon, file,
	// shmem). Without the heap it is what is off the heap.
	ResidentBytes = "folio_resident_bytes"

	HeapResidentBytes = "folio_heap_resident_bytes" // Go heap in RAM
	HeapHugeBytes     = "folio_heap_huge_bytes"     // part of it on huge pages
	// HeapBloatBytes is the part of the heap in RAM that huge pages keep there although
	// the program released or never touched it: pages of zeros on huge pages.
	HeapBloatBytes = "folio_heap_bloat_bytes"
	// HeapGainBytes is the part of the heap on small pages, in dense windows, that could be
	// on huge pages now.
	HeapGainBytes = "folio_heap_gain_bytes"
)

// What the Go runtime says of itself. Gauges with WorkloadLabels, unless stated.
const (
	LiveHeapBytes   = "folio_live_heap_bytes"  // marked by the last GC cycle
	HeapGoalBytes   = "folio_heap_goal_bytes"  // heap size at which the next GC cycle ends, by GOGC: live + (live + stacks) * GOGC/100; no sample with GOGC=off
	GCCycles        = "folio_gc_cycles_total"  // counter
	GOGCPercent     = "folio_gogc_percent"     // 100 by default; +Inf: off
	GOMEMLIMITBytes = "folio_gomemlimit_bytes" // +Inf: none
	GoProcesses     = "folio_go_processes"     // running Go processes
	// UnreadProcesses are those of GoProcesses whose heap or runtime could not be read, or
	// was not yet: what they have is not in the sums.
	UnreadProcesses = "folio_unread_go_processes"
	GoInfo          = "folio_go_info" // 1; WorkloadLabels, LabelGoVersion, LabelModule, LabelModuleVersion
)

// The container's cgroup. Gauges with WorkloadLabels, in bytes.
const (
	CgroupMemoryLimitBytes = "folio_cgroup_memory_limit_bytes" // +Inf: none
	CgroupMemoryBytes      = "folio_cgroup_memory_bytes"       // charged now, page cache included
	CgroupPageCacheBytes   = "folio_cgroup_page_cache_bytes"   // file-backed part, without shmem
	// CgroupChargedBytes divides CgroupMemoryBytes by LabelPart (ChargedParts), as the kernel
	// counts it: what no RSS shows is tmpfs (in shared) and huge pages that were released in
	// part and not split yet. WorkloadLabels and LabelPart.
	CgroupChargedBytes = "folio_cgroup_charged_bytes"
	// CgroupCPUSeconds is the CPU time of all processes of the container, also of those that
	// ended before the agent saw them and of those that are not Go. Counter.
	CgroupCPUSeconds    = "folio_cgroup_cpu_seconds_total"
	CgroupCPULimitCores = "folio_cgroup_cpu_limit_cores" // quota over period; +Inf: none
)

// ChargedParts are the values of LabelPart.
var ChargedParts = []string{"anonymous", "huge_pages_unsplit", "shared", "page_cache", "kernel", "unexplained"}

// The agent itself. LabelNode, and what is stated.
const (
	AgentInfo             = "folio_agent_info"                  // 1; LabelVersion
	AgentCPUSeconds       = "folio_agent_cpu_seconds_total"     // counter: CPU time of the agent, all threads
	AgentResidentBytes    = "folio_agent_resident_bytes"        // gauge
	AgentKubernetesSynced = "folio_agent_kubernetes_synced"     // gauge: 1 once the API gave the pods of the node, else 0
	AgentPods             = "folio_agent_pods"                  // gauge: pods of the node in the agent's cache
	AgentProcesses        = "folio_agent_processes"             // gauge; LabelState: go, not_go, denied
	AgentProcessesEnded   = "folio_agent_processes_ended_total" // counter: Go processes seen to end
	AgentUnreadable       = "folio_agent_unreadable_total"      // counter; LabelReason: looks that failed
	AgentSamples          = "folio_agent_samples_total"         // counter; LabelOutcome: classed, other, unknown, lost
	AgentSampling         = "folio_agent_sampling_ratio"        // gauge: share of time that windows cover, 0 where sampling is not possible
	AgentContainers       = "folio_agent_containers"            // gauge: containers that have series
	AgentOverflow         = "folio_agent_overflow_containers"   // gauge: containers in Overflow
)

// The container that acts (folio-agent act). WorkloadLabels, and what is stated.
const (
	CollapsedBytes     = "folio_collapsed_bytes_total"      // counter: heap put on huge pages
	CollapseCPUSeconds = "folio_collapse_cpu_seconds_total" // counter: CPU time that it took
	CollapseStops      = "folio_collapse_stops_total"       // counter; LabelNode, LabelReason: pressure, available, headroom, failed

	ThrashEvents = "folio_thrash_total" // counter: GC thrashing that was seen, of pods that opted in

	SetProcesses  = "folio_set_processes"         // gauge: processes with settings of the policy
	SetGOGC       = "folio_set_gogc_percent"      // gauge: set by it, the least of the container; +Inf: off
	SetGOMEMLIMIT = "folio_set_gomemlimit_bytes"  // gauge: set by it, the least of the container
	SetRefused    = "folio_set_refused_processes" // gauge; also LabelReason: processes without the settings of their rule
	SetChanges    = "folio_set_changes_total"     // counter; LabelNode, LabelChange: set, moved, restored, lost
	SetRefusals   = "folio_set_refusals_total"    // counter; LabelNode, LabelReason: program, other, no_limit, room, recommendation, denied, unsupported, failed
)

// Bounds of the number of series of one agent.
const (
	// MaxContainers is the most containers of a node that have series of their own.
	MaxContainers = 512
	// PerContainer is the most series of a container: the metrics above, and up to
	// MaxInfos series of GoInfo.
	PerContainer = 46
	MaxInfos     = 4
	// PerActed is the most series of a container of the agent that acts.
	PerActed  = 14
	MaxSeries = (MaxContainers+3)*PerContainer + 64
	// MaxLabelBytes is the most of a label's value that is kept.
	MaxLabelBytes = 128
)
