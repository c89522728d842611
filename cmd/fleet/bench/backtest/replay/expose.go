package replay

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/foliomem/folio/cmd/fleet/bench/backtest/synthetic"
	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
)

// An Exposer writes a workload as the agent and kube-state-metrics would have exposed it.
type Exposer struct {
	Name    string
	pods    []string
	states  [][]State
	setting synthetic.Setting
}

// NewExposer plays a workload with its present setting.
func NewExposer(w *synthetic.Workload, name string) *Exposer {
	e := &Exposer{Name: name, setting: w.Setting}
	for i, pod := range w.Pods {
		states := make([]State, len(pod))
		Pod(w, pod, w.Setting, func(i int, st State) { states[i] = st })
		e.pods, e.states = append(e.pods, fmt.Sprintf("%s-%d", name, i)), append(e.states, states)
	}
	return e
}

// Write writes the samples of some minutes, of which the first is at start. Samples of a
// series are together, as OpenMetrics wants it.
func (e *Exposer) Write(w io.Writer, start time.Time, from, to, step int) error {
	var failed error
	series := func(name, more string, value func(p, i int) float64) {
		for p, pod := range e.pods {
			for i := from; i < to; i += step {
				if _, err := fmt.Fprintf(w, "%s{namespace=\"shop\",pod=%q,container=%q%s} %g %d\n", name, pod, e.Name, more, value(p, i), start.Add(time.Duration(i)*synthetic.Step).Unix()); err != nil {
					failed = err
				}
			}
		}
	}
	st := func(of func(State) float64) func(p, i int) float64 {
		return func(p, i int) float64 { return of(e.states[p][i]) }
	}
	fixed := func(v float64) func(p, i int) float64 { return func(int, int) float64 { return v } }
	// Counters begin at the first minute.
	total := func(of func(State) float64) func(p, i int) float64 {
		sums := make([][]float64, len(e.pods))
		return func(p, i int) float64 {
			if sums[p] == nil {
				sums[p] = make([]float64, len(e.states[p]))
				sum := 0.0
				for i, s := range e.states[p] {
					sum += of(s) * synthetic.Step.Seconds()
					sums[p][i] = sum
				}
			}
			return sums[p][i]
		}
	}
	node := `,node="n1"`
	cpu := func(s State) float64 { return s.CPU }
	series(metrics.GoProcesses, node, fixed(1))
	series(metrics.CPUSeconds, node, total(cpu))
	series(metrics.SampledCPUSeconds, node, total(cpu))
	series(metrics.CgroupCPUSeconds, node, total(cpu))
	series(metrics.MemoryTaxCPUSeconds, node+`,class="gc_mark"`, total(func(s State) float64 { return s.GC }))
	series(metrics.LiveHeapBytes, node, st(func(s State) float64 { return s.Live }))
	series(metrics.HeapResidentBytes, node, st(func(s State) float64 { return s.Heap }))
	series(metrics.CgroupMemoryBytes, node, st(func(s State) float64 { return s.Charged }))
	series(metrics.CgroupPageCacheBytes, node, st(func(s State) float64 { return s.Cache }))
	series(metrics.CgroupMemoryLimitBytes, node, fixed(e.setting.Limit))
	series(metrics.GOGCPercent, node, fixed(e.setting.GOGC))
	limit := e.setting.GOMEMLIMIT
	if limit == 0 {
		limit = math.Inf(1)
	}
	series(metrics.GOMEMLIMITBytes, node, fixed(limit))
	series(metrics.GoInfo, node+`,go_version="go1.26.8",module="m",module_version="v1"`, fixed(1))
	series("kube_pod_container_resource_requests", `,resource="memory",unit="byte"`, fixed(e.setting.Request))
	for p := range e.pods {
		for i := from; i < to; i += step {
			if _, err := fmt.Fprintf(w, "kube_pod_owner{namespace=\"shop\",pod=%q,owner_kind=\"StatefulSet\",owner_name=%q} 1 %d\n", e.pods[p], e.Name, start.Add(time.Duration(i)*synthetic.Step).Unix()); err != nil {
				failed = err
			}
		}
	}
	return failed
}
