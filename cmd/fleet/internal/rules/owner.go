package rules

import "github.com/foliomem/folio/cmd/fleet/internal/metrics"

// What the API server makes names of: no vowels, no 0, 1 and 3.
const safe = "[bcdfghjklmnpqrstvwxz2456789]"

// owners is the expression of ContainerInfo: containers with Go processes, and the
// workload of each by the owner of its pod. Without kube-state-metrics it is read from the
// name of the pod.
func owners(sources []Source) string {
	var programs string
	for _, s := range sources {
		var p string
		switch s {
		case Agent:
			p = "group by (" + perPod + ") (" + inPod(metrics.GoProcesses) + ")"
		case Application:
			p = "group by (" + perPod + ") (" + inPod("go_info") + ")"
		default:
			continue
		}
		if programs != "" {
			programs += "\n  or "
		}
		programs += p
	}
	programs = "(" + programs + ")"
	named := programs
	for _, guess := range []struct{ kind, pattern string }{
		{"Pod", "(.+)"},
		{"DaemonSet", "(.+)-" + safe + "{5}"},
		{"StatefulSet", "(.+)-[0-9]{1,4}"},
		{"Deployment", "(.+)-" + safe + "{6,10}-" + safe + "{5}"},
	} {
		named = label(label(named, LabelWorkload, "$1", "pod", guess.pattern), LabelWorkloadKind, guess.kind, "pod", guess.pattern)
	}
	if !has(sources, Kube) {
		return named
	}
	// Of ReplicaSets and Jobs, their owner, where they have one.
	via := func(kind, metric, name string) string {
		pods := label(`max by (namespace, pod, owner_name) (kube_pod_owner{owner_kind="`+kind+`"})`, name, "$1", "owner_name", "(.+)")
		owner := label(label(`max by (namespace, `+name+`, owner_kind, owner_name) (`+metric+`{owner_kind!~"|<none>"})`,
			LabelWorkload, "$1", "owner_name", "(.+)"), LabelWorkloadKind, "$1", "owner_kind", "(.+)")
		return "max by (namespace, pod, workload, workload_kind) (\n    " + pods + "\n    * on (namespace, " + name + ") group_left (workload, workload_kind) " + owner + "\n  )"
	}
	direct := "max by (namespace, pod, workload, workload_kind) (" +
		label(label(`kube_pod_owner{owner_kind!~"|<none>|Node"}`, LabelWorkload, "$1", "owner_name", "(.+)"), LabelWorkloadKind, "$1", "owner_kind", "(.+)") + ")"
	byOwner := "(\n  " + via("ReplicaSet", "kube_replicaset_owner", "replicaset") +
		"\n  or on (namespace, pod) " + via("Job", "kube_job_owner", "job_name") +
		"\n  or on (namespace, pod) " + direct + "\n  )"
	return programs + "\n* on (namespace, pod) group_left (workload, workload_kind) " + byOwner + "\nor on (" + perPod + ") " + named
}

// label sets a label where another matches.
func label(expr, dst, value, src, pattern string) string {
	return `label_replace(` + expr + `, "` + dst + `", "` + value + `", "` + src + `", "` + pattern + `")`
}
