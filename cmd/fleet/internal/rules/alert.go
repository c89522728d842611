package rules

import "github.com/foliomem/folio/cmd/fleet/internal/metrics"

// An alert is an alerting rule.
type alert struct {
	name, expr, pending, severity string
	summary, description          string
	needs                         []Source // any of them
}

const who = `{{ $labels.namespace }}/{{ $labels.workload }}:{{ $labels.container }}`

// whole keeps one series a workload, whatever its source.
func whole(how, expr string) string { return how + " by (" + byWorkload + ") (" + expr + ")" }

// of selects the series of a source.
func of(s Source) string { return `{source="` + string(s) + `"}` }

func alerts() []alert {
	tax := whole("max", "sum by ("+byWorkload+", source) ("+TaxCores+")")
	gc := whole("max", "sum by ("+byWorkload+", source) ("+TaxCores+`{class=~"gc|gc_.*|write_barrier"})`)
	cpu := whole("max", CPUCores)
	unreclaimable := whole("max", Memory) + " - " + whole("max", PageCache)
	limit := whole("min", Limit)
	memory := []Source{Agent, CAdvisor}
	programs := []Source{Agent, Application}
	return []alert{
		{"FolioMemoryTaxHigh", "(" + tax + " / " + cpu + " > 0.2) and " + tax + " > 0.5", "1h", "info",
			who + " loses {{ $value | humanizePercentage }} of its CPU time to memory",
			"Managing memory (GC, allocation, page faults) takes more than 20% of its CPU time, and more than half a core. Run: folio-fleet recommend {{ $labels.namespace }}/{{ $labels.workload }}:{{ $labels.container }}", programs},
		{"FolioGCThrashing", gc + " / " + cpu + " > 0.4 and " + whole("min", GOMEMLIMIT) + " < 2^60", "15m", "warning",
			"the GC takes {{ $value | humanizePercentage }} of the CPU time of " + who,
			"GOMEMLIMIT leaves too little beyond the live heap: the GC runs again and again, up to half of the CPU time. Raise GOMEMLIMIT and the memory limit, or find what grows: folio leaks.", programs},
		{"FolioNearMemoryLimit", "(" + unreclaimable + ") / " + limit + " > 0.9", "15m", "warning",
			who + " uses {{ $value | humanizePercentage }} of its memory limit",
			"Page cache, which the kernel can reclaim, is not counted. Beyond the limit the kernel ends the container (OOMKilled).", memory},
		{"FolioLimitNotInEffect", "abs(" + whole("min", Limit+of(Kube)) + " / " + whole("min", Limit+of(Agent)) + " - 1) > 0.01", "10m", "warning",
			"the memory limit of " + who + " is not the one in effect",
			"The pod's spec has another limit than its cgroup: a resize in place that the node has not done (kubectl get pod -o yaml has the reason), or one that a running pod does not get.", []Source{Kube}},
		{"FolioGOMEMLIMITAboveLimit", whole("min", GOMEMLIMIT) + " / " + limit + " >= 1 and " + whole("min", GOMEMLIMIT) + " < 2^60", "10m", "warning",
			"GOMEMLIMIT of " + who + " is {{ $value | humanizePercentage }} of its memory limit",
			"The limit is of more than the Go runtime: before the GC holds the heap back the container is ended (OOMKilled). folio-fleet recommend {{ $labels.namespace }}/{{ $labels.workload }}:{{ $labels.container }} has one that fits.", programs},
		{"FolioOOMKilled", "sum by (" + byWorkload + ") (sum_over_time(" + OOMKills + "[15m])) > 0", "", "warning",
			"a container of " + who + " was ended for lack of memory (OOMKilled)",
			"Its memory passed its limit. See where memory was: folio inspect --oom.", []Source{Kube}},
		{"FolioMemoryGrows", "predict_linear(" + whole("max", Memory) + "[1d:10m], 3 * 86400) > " + limit +
			" and deriv(" + whole("max", LiveHeap) + "[1d:10m]) > 0 and " + whole("count", "count_over_time("+Memory+"[1d])") + " > 0 and " +
			whole("max", Memory+" offset 20h") + " > 0", "2h", "info",
			who + " grows to its memory limit within 3 days",
			"Its memory and its live heap grew over the last day. Find what grows: folio leaks.", memory},
		{"FolioAgentNotSampling", metrics.AgentSampling + " == 0", "15m", "info",
			"folio-agent on {{ $labels.node }} takes no samples",
			"CPU time by memory class is missing there. CAP_PERFMON is missing, or seccomp forbids perf_event_open: the log of the agent has the reason.", []Source{Agent}},
		{"FolioAgentWithoutNames", metrics.AgentKubernetesSynced + " == 0", "15m", "info",
			"folio-agent on {{ $labels.node }} does not know the pods of its node",
			"Its series have UIDs for names, and belong to no workload. See NetworkPolicy and RBAC: the log of the agent says which.", []Source{Agent}},
	}
}
