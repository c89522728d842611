package rules

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
)

// A record is a recording rule of one source. The expression is of series with the labels
// namespace, pod and container; aggregate it over the pods of a workload with over.
type record struct {
	name   string
	source Source
	expr   string
}

const (
	window    = "5m"
	taxWindow = "15m" // the agent samples in windows of 10 s, with pauses
	perPod    = "namespace, pod, container"
)

var byWorkload = strings.Join(By, ", ")

// pod returns one value a container: scrapes of the same container by two jobs, and the
// series that a restarted container leaves behind, are not counted twice.
func pod(expr string) string { return "max by (" + perPod + ") (" + expr + ")" }

// peak returns the largest value of a gauge in the window, by container.
func peak(selector string) string { return pod("max_over_time(" + selector + "[" + window + "])") }

func rate(selector string) string { return pod("rate(" + selector + "[" + window + "])") }

// over aggregates a value of containers over the pods of their workload.
func over(how, expr string) string { return overBy(how, expr, "") }

func overBy(how, expr, label string) string {
	return fmt.Sprintf("%s by (%s%s) (\n  (%s)\n  * on (%s) group_left (%s, %s) %s\n)",
		how, byWorkload, label, expr, perPod, LabelWorkload, LabelWorkloadKind, ContainerInfo)
}

// inPod selects the series of containers of pods.
func inPod(metric string, more ...string) string {
	return metric + "{" + strings.Join(append([]string{`container!=""`, `pod!=""`}, more...), ", ") + "}"
}

func records() []record {
	var all []record
	add := func(name string, s Source, expr string) { all = append(all, record{name, s, expr}) }
	agentRecords(add)
	applicationRecords(add)
	cadvisorRecords(add)
	kubeRecords(add)
	return all
}

func agentRecords(add func(string, Source, string)) {
	own := func(metric string) string { return inPod(metric) }
	add(Pods, Agent, over("count", pod(own(metrics.GoProcesses))))
	add(CPUCores, Agent, over("sum", rate(own(metrics.CPUSeconds))))
	add(CPUMax, Agent, over("max", rate(own(metrics.CgroupCPUSeconds))))
	// The share of what was sampled, of the CPU time of all.
	tax := overBy("sum", "max by ("+perPod+", class) (rate("+own(metrics.MemoryTaxCPUSeconds)+"["+taxWindow+"]))", ", class")
	sampled := over("sum", pod("rate("+own(metrics.SampledCPUSeconds)+"["+taxWindow+"])"))
	add(TaxCores, Agent, tax+"\n/ ignoring (class) group_left () ("+sampled+" > 0)\n* ignoring (class) group_left () "+over("sum", pod("rate("+own(metrics.CPUSeconds)+"["+taxWindow+"])")))
	add(TaxTotal, Agent, "sum without (class) ("+TaxCores+`{source="`+string(Agent)+`"})`)
	add(GCCycles, Agent, over("sum", rate(own(metrics.GCCycles))))
	add(LiveHeap, Agent, over("max", peak(own(metrics.LiveHeapBytes))))
	add(Heap, Agent, over("max", peak(own(metrics.HeapResidentBytes))))
	add(HeapSum, Agent, over("sum", pod(own(metrics.HeapResidentBytes))))
	// Of one moment: the sum of peaks of different moments would be no use of memory.
	add(OffHeap, Agent, over("max", "clamp_min("+pod(own(metrics.CgroupMemoryBytes))+"\n  - "+pod(own(metrics.CgroupPageCacheBytes))+
		"\n  - "+pod(own(metrics.HeapResidentBytes))+", 0)"))
	add(PageCache, Agent, over("max", peak(own(metrics.CgroupPageCacheBytes))))
	add(Memory, Agent, over("max", peak(own(metrics.CgroupMemoryBytes))))
	add(MemorySum, Agent, over("sum", pod(own(metrics.CgroupMemoryBytes))))
	add(Limit, Agent, over("min", pod(own(metrics.CgroupMemoryLimitBytes))+" < +Inf"))
	add(CPULimit, Agent, over("min", pod(own(metrics.CgroupCPULimitCores))+" < +Inf"))
	add(GOGCMin, Agent, over("min", pod(own(metrics.GOGCPercent))))
	add(GOGCMax, Agent, over("max", pod(own(metrics.GOGCPercent))))
	add(GOMEMLIMIT, Agent, over("min", pod(own(metrics.GOMEMLIMITBytes))))
	add(GoVersions, Agent, overBy("count", "max by ("+perPod+", go_version) ("+own(metrics.GoInfo)+")", ", go_version"))
	add(Huge, Agent, over("sum", pod(own(metrics.HeapHugeBytes))))
	add(HugeGain, Agent, over("sum", pod(own(metrics.HeapGainBytes))))
	add(Bloat, Agent, over("sum", pod(own(metrics.HeapBloatBytes))))
	add(Unread, Agent, over("sum", pod(own(metrics.UnreadProcesses))))
}

// applicationRecords are of what client_golang's collectors of Go and of the process show.
func applicationRecords(add func(string, Source, string)) {
	mapped := pod(inPod("go_memstats_heap_sys_bytes")) + " - " + pod(inPod("go_memstats_heap_released_bytes"))
	add(Pods, Application, over("count", pod(inPod("go_info"))))
	add(CPUCores, Application, over("sum", rate(inPod("process_cpu_seconds_total"))))
	add(CPUMax, Application, over("max", rate(inPod("process_cpu_seconds_total"))))
	// Opt-in: collectors.WithGoCollectorRuntimeMetrics. Marking on idle CPUs costs nothing
	// that the program would have used.
	add(TaxCores, Application, `label_replace(`+over("sum", rate(inPod("go_cpu_classes_gc_total_cpu_seconds_total"))+
		"\n  - "+rate(inPod("go_cpu_classes_gc_mark_idle_cpu_seconds_total")))+`, "class", "`+ClassGC+`", "", "")`)
	add(TaxTotal, Application, "sum without (class) ("+TaxCores+`{source="`+string(Application)+`"})`)
	add(GCCycles, Application, over("sum", rate(inPod("go_gc_duration_seconds_count"))))
	add(LiveHeap, Application, over("max", peak(inPod("go_gc_heap_live_bytes"))+"\n  or "+estimatedLive()))
	add(Heap, Application, over("max", mapped))
	add(HeapSum, Application, over("sum", mapped))
	charged := "(" + pod(inPod("container_memory_usage_bytes")) + " - " + pod(inPod("container_memory_cache")) +
		"\n   or " + pod(inPod("process_resident_memory_bytes")) + ")"
	add(OffHeap, Application, over("max", "clamp_min("+charged+"\n  - ("+mapped+"), 0)"))
	add(GOGCMin, Application, over("min", pod(inPod("go_gc_gogc_percent"))))
	add(GOGCMax, Application, over("max", pod(inPod("go_gc_gogc_percent"))))
	add(GOMEMLIMIT, Application, over("min", pod(inPod("go_gc_gomemlimit_bytes"))))
	add(GoVersions, Application, overBy("count", `label_replace(max by (`+perPod+`, version) (`+inPod("go_info")+`), "go_version", "$1", "version", "(.*)")`, ", go_version"))
}

// estimatedLive is the live heap by the goal of the next GC cycle, which is live + (live +
// stacks) * GOGC/100. Where GOMEMLIMIT sets the goal, that would be too little: there it
// has no value.
func estimatedLive() string {
	goal, percent := pod(inPod("go_memstats_next_gc_bytes")), pod(inPod("go_gc_gogc_percent"))
	stacks := pod(inPod("go_memstats_stack_inuse_bytes"))
	free := pod(inPod("go_memstats_sys_bytes")) + " - " + pod(inPod("go_memstats_heap_sys_bytes")) + " + " + goal +
		" < 0.9 * " + pod(inPod("go_gc_gomemlimit_bytes"))
	return fmt.Sprintf("(clamp_min((%s - %s * %s / 100) / (1 + %s / 100), 0)\n    and (%s)\n    and %s < %g)",
		goal, stacks, percent, percent, free, percent, float64(Off))
}

func cadvisorRecords(add func(string, Source, string)) {
	add(Pods, CAdvisor, over("count", pod(inPod("container_memory_usage_bytes"))))
	add(CPUCores, CAdvisor, over("sum", rate(inPod("container_cpu_usage_seconds_total"))))
	add(CPUMax, CAdvisor, over("max", rate(inPod("container_cpu_usage_seconds_total"))))
	add(PageCache, CAdvisor, over("max", peak(inPod("container_memory_cache"))))
	add(Memory, CAdvisor, over("max", peak(inPod("container_memory_usage_bytes"))))
	add(MemorySum, CAdvisor, over("sum", pod(inPod("container_memory_usage_bytes"))))
	add(Limit, CAdvisor, over("min", pod(inPod("container_spec_memory_limit_bytes"))+" > 0"))
	add(Throttled, CAdvisor, over("sum", rate(inPod("container_cpu_cfs_throttled_periods_total")))+"\n/ ("+
		over("sum", rate(inPod("container_cpu_cfs_periods_total")))+" > 0)")
}

func kubeRecords(add func(string, Source, string)) {
	// A native sidecar is an init container that goes on: kube-state-metrics has it apart.
	either := func(metric string, of func(selector string) string, more ...string) string {
		return "(" + of(inPod("kube_pod_container_"+metric, more...)) + "\n   or " + of(inPod("kube_pod_init_container_"+metric, more...)) + ")"
	}
	requests := func(resource string) string { return either("resource_requests", pod, `resource="`+resource+`"`) }
	limits := func(resource string) string { return either("resource_limits", pod, `resource="`+resource+`"`) }
	add(Init, Kube, over("max", pod(inPod("kube_pod_init_container_info"))))
	add(Request, Kube, over("max", requests("memory")))
	add(CPURequest, Kube, over("max", requests("cpu")))
	add(Limit, Kube, over("min", limits("memory")))
	add(CPULimit, Kube, over("min", limits("cpu")))
	charged := "(" + peak(inPod(metrics.CgroupMemoryBytes)) + "\n   or " + peak(inPod("container_memory_usage_bytes")) + ")"
	add(Unused, Kube, over("sum", "clamp_min("+requests("memory")+"\n  - "+charged+", 0)"))
	restarts := func(selector string) string { return pod("increase(" + selector + "[" + window + "])") }
	add(OOMKills, Kube, over("sum", either("status_restarts_total", restarts)+
		"\n  * on ("+perPod+") "+either("status_last_terminated_reason", pod, `reason="OOMKilled"`)))
}
