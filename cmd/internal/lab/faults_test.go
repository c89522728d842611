package lab

import (
	"fmt"
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// Where the largest size does not tell what huge pages do, the largest that does is named.
func TestFaultsMeaning(t *testing.T) {
	o := &Outcome{Experiment: faults, Params: Params{Size: 1 << 30}, Rounds: 6}
	for name, seconds := range map[string]map[uint64]float64{
		"base": {256 << 20: 2e-6, 512 << 20: 2e-6, 1 << 30: 2e-6},
		"thp":  {256 << 20: 4e-7, 512 << 20: 5e-7, 1 << 30: 2e-6},
	} {
		r := &ArmResult{Arm: find(t, faults, machine(""), name)}
		for i := range o.Rounds {
			m := make(map[string]float64)
			for size, v := range seconds {
				m[fmt.Sprintf("Faults/size=%d page_seconds", size)] = v * (1 + float64(i)/1000)
			}
			r.Samples = append(r.Samples, &trial.Sample{Metrics: m})
		}
		o.Arms = append(o.Arms, r)
	}
	if got, want := o.Conclusions(), "Transparent huge pages make 512MiB of fresh memory 4.00x as fast."; !slices.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}
