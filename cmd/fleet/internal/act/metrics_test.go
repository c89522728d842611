package act

import (
	"maps"
	"math"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
)

// What is set and refused are series, of a number that is bounded by that of containers.
func TestSettingsSeries(t *testing.T) {
	k := &Keeper{settings: Settings{Containers: make(map[node.Labels]Given), Changes: map[string]uint64{Set: 3}, Refusals: map[string]uint64{NoRoom: 2}}}
	const containers = 7
	for i := range containers {
		g := Given{Processes: 2, GOGC: math.Inf(1), GOMEMLIMIT: 1 << 30, Refused: make(map[string]int)}
		for _, reason := range Refusals {
			g.Refused[reason] = 1
		}
		k.settings.Containers[node.Labels{Namespace: "shop", Pod: strconv.Itoa(i), Container: "main"}] = g
	}
	k.settings.Containers[node.Labels{Pod: "none"}] = Given{GOGC: math.NaN(), GOMEMLIMIT: math.NaN(), Refused: map[string]int{NoRoom: 1}}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(&Collector{Node: "node-1", Actor: &Actor{Keeper: k, Sentry: &Sentry{dies: map[node.Labels]uint64{{Pod: "none"}: 2}}}})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for _, f := range families {
		got[f.GetName()] = len(f.GetMetric())
	}
	want := map[string]int{
		metrics.CollapseStops: len(Reasons), metrics.ThrashEvents: 1, metrics.SetProcesses: containers + 1, metrics.SetGOGC: containers, metrics.SetGOMEMLIMIT: containers,
		metrics.SetRefused: containers*len(Refusals) + 1, metrics.SetChanges: len(Changes), metrics.SetRefusals: len(Refusals),
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
	if each := 2 + 4 + len(Refusals); each != metrics.PerActed {
		t.Errorf("%d series a container, the contract says %d at most", each, metrics.PerActed)
	}
}
