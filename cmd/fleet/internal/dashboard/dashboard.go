// Package dashboard makes a Grafana dashboard of what the rules record.
package dashboard

import (
	"encoding/json"
	"fmt"

	"github.com/foliomem/folio/cmd/fleet/internal/rules"
)

// A Panel has queries; the names of their variables are Grafana's.
type Panel struct {
	Title, Text string
	Unit        string // of Grafana: percentunit, bytes, none, cores
	Kind        string // timeseries, stat, table
	Queries     []Query
	Width       int // of 24
}

// A Query and how its series are called.
type Query struct{ Expr, Legend string }

// in selects the workloads of the dashboard's variables.
func in(name string) string {
	return name + `{namespace=~"$namespace", workload=~"$workload", container=~"$container"}`
}

const each = "namespace, workload, container"

// best takes the most exact source of a workload.
func best(how, name string) string {
	return how + " by (" + each + ") (" + in(name) + ")"
}

const legend = "{{namespace}}/{{workload}}:{{container}}"

// Panels are what the dashboard shows, in rows of 24.
func Panels() []Panel {
	tax, cpu := "sum("+best("max", rules.TaxTotal)+")", "sum("+best("max", rules.CPUCores)+")"
	one := func(expr string) []Query { return []Query{{expr, legend}} }
	return []Panel{
		{"Cores lost to memory", "CPU time of GC, allocation and page faults, in cores. Without the agent, the GC's alone.", "none", "stat", []Query{{tax, ""}}, 6},
		{"Share of CPU time", "", "percentunit", "stat", []Query{{tax + " / " + cpu, ""}}, 6},
		{"Memory requested and not used", "Requested, and not charged in the last 5 minutes.", "bytes", "stat", []Query{{"sum(" + best("max", rules.Unused) + ")", ""}}, 6},
		{"OOM kills", "Containers that the kernel ended, in the time shown.", "none", "stat", []Query{{"sum(sum_over_time(" + in(rules.OOMKills) + "[$__range])) or vector(0)", ""}}, 6},
		{"Cores lost to memory, by workload", "The ten that lose the most. For the answer with prices: folio-fleet top.", "none", "timeseries",
			one("topk(10, " + best("max", rules.TaxTotal) + ")"), 12},
		{"Cores lost to memory, by class", "The classes of folio run. gc: all of the GC, where an application says it itself.", "none", "timeseries",
			[]Query{{"sum by (class) (" + in(rules.TaxCores) + ")", "{{class}}"}}, 12},
		{"Memory of the largest pod and its limit", "Charged, page cache included; without page cache; the limit. Choose one workload.", "bytes", "timeseries", []Query{
			{best("max", rules.Memory), "charged " + legend},
			{best("max", rules.Memory) + " - " + best("max", rules.PageCache), "without page cache " + legend},
			{best("min", rules.Limit), "limit " + legend},
			{best("max", rules.Request), "request " + legend}}, 12},
		{"Where the memory is", "Of the largest pod: live heap, heap in RAM, off the heap, page cache.", "bytes", "timeseries", []Query{
			{best("max", rules.LiveHeap), "live heap " + legend}, {best("max", rules.Heap), "heap " + legend},
			{best("max", rules.OffHeap), "off the heap " + legend}, {best("max", rules.PageCache), "page cache " + legend}}, 12},
		{"GC cycles a second", "Of all pods.", "none", "timeseries", one(best("max", rules.GCCycles)), 8},
		{"GOGC", "", "percent", "timeseries", one(best("max", rules.GOGCMax) + " < 1e9"), 8},
		{"GOMEMLIMIT", "", "bytes", "timeseries", one(best("min", rules.GOMEMLIMIT) + " < 2^60"), 8},
		{"Heap on huge pages", "Share of the heap in RAM; what could be there now; what is there and empty.", "bytes", "timeseries", []Query{
			{"sum(" + best("max", rules.HeapSum) + ")", "heap"}, {"sum(" + best("max", rules.Huge) + ")", "on huge pages"},
			{"sum(" + best("max", rules.HugeGain) + ")", "could be"}, {"sum(" + best("max", rules.Bloat) + ")", "empty"}}, 12},
		{"CPU throttling", "Share of periods in which a workload used up its CPU limit. The GC's bursts do that, too.", "percentunit", "timeseries",
			one(best("max", rules.Throttled)), 12},
		{"Agents", "CPU time of folio-agent, in cores; its share of time that is sampled.", "none", "timeseries", []Query{
			{"max(rate(folio_agent_cpu_seconds_total[5m]))", "CPU, most"}, {"min(folio_agent_sampling_ratio)", "sampled, least"},
			{"count(folio_agent_info)", "agents"}}, 12},
		{"Go versions", "Pods by version of Go.", "none", "timeseries", []Query{{"sum by (go_version) (" + in(rules.GoVersions) + ")", "{{go_version}}"}}, 12},
	}
}

// JSON is the dashboard, for Grafana's import.
func JSON() ([]byte, error) {
	type object = map[string]any
	source := object{"type": "prometheus", "uid": "${datasource}"}
	var panels []object
	x, y := 0, 0
	for i, p := range Panels() {
		height := 8
		if p.Kind == "stat" {
			height = 4
		}
		if x+p.Width > 24 {
			x = 0
		}
		var targets []object
		for j, q := range p.Queries {
			targets = append(targets, object{"datasource": source, "expr": q.Expr, "legendFormat": q.Legend, "refId": string(rune('A' + j)), "range": true})
		}
		panels = append(panels, object{
			"id": i + 1, "type": p.Kind, "title": p.Title, "description": p.Text, "datasource": source,
			"gridPos":     object{"h": height, "w": p.Width, "x": x, "y": y},
			"fieldConfig": object{"defaults": object{"unit": p.Unit, "min": 0}, "overrides": []any{}},
			"targets":     targets,
		})
		if x += p.Width; x >= 24 {
			x, y = 0, y+height
		}
	}
	variable := func(name, filter string) object {
		query := fmt.Sprintf("label_values(%s{%s}, %s)", rules.Pods, filter, name)
		return object{"name": name, "type": "query", "datasource": source, "query": object{"query": query, "refId": name}, "refresh": 2,
			"includeAll": true, "allValue": ".*", "multi": true, "current": object{"text": "All", "value": "$__all"}, "sort": 1}
	}
	return json.MarshalIndent(object{
		"uid": "folio-fleet", "title": "Folio: what memory costs", "tags": []string{"folio", "go"}, "schemaVersion": 39, "editable": true,
		"time": object{"from": "now-24h", "to": "now"}, "refresh": "5m", "panels": panels,
		"templating": object{"list": []object{
			{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
			variable("namespace", ""),
			variable("workload", `namespace=~"$namespace"`),
			variable("container", `namespace=~"$namespace", workload=~"$workload"`),
		}},
	}, "", "  ")
}
