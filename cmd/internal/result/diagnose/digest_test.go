package diagnose

import (
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/cmd/internal/trial"
)

const ms = time.Millisecond

func TestDigest(t *testing.T) {
	tiny := gccount.OfTrace(gctrace.Summary{Cycles: 2000, CPU: 1000 * ms, AssistCPU: 100 * ms, IdleCPU: 200 * ms, PauseCPU: 100 * ms,
		HeapSum: 2000 * 4 << 20, LiveSum: 20 << 20})
	for _, tt := range []struct {
		name string
		g    gccount.Figures
		wall float64
		want []string
	}{
		{"never", gccount.OfTrace(gctrace.Summary{}), 1, nil},
		{"tiny heap", tiny, 10, []string{
			"200 GCs/s; mean heap 4.000MiB, 10.24KiB live.",
			"GC time by the runtime's own clock, which counts waits, and all CPUs while the world is stopped: 60.0% background marking, 10.0% mark assists, 20.0% marking on idle CPUs, 10.0% stop-the-world.",
		}},
		{"rarely", gccount.OfTrace(gctrace.Summary{Cycles: 2, Forced: 2, CPU: 10 * ms, HeapSum: 300 << 20, LiveSum: 200 << 20}), 5, []string{
			"one GC per 2.500s; mean heap 150.0MiB, 100.0MiB live; all forced (runtime.GC).",
			"GC time by the runtime's own clock, which counts waits, and all CPUs while the world is stopped: 100.0% background marking.",
		}},
		{"asked for at times", gccount.OfTrace(gctrace.Summary{Cycles: 30, Forced: 1, HeapSum: 30 << 20, LiveSum: 30 << 20}), 20, []string{
			"1.5 GCs/s; mean heap 1.000MiB, 1.000MiB live; 3.3% forced (runtime.GC).",
		}},
	} {
		if got := digest(tt.g, float64(tt.g.Cycles)/tt.wall, false); strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// A saved trace says how much of it is whole.
func TestTrace(t *testing.T) {
	const line = "gc 1 @0.021s 0%: 0.15+0.37+0.25 ms clock, 3.0+0.19/0.39/0.60+5.0 ms cpu, 4->4->2 MB, 5 MB goal, 2 P\n"
	for _, tt := range []struct{ name, text, want string }{
		{"whole", line, "GC: 1 cycle in the first 21.77ms of the process; stop-the-world 400.0µs total, 400.0µs max.\n" +
			"46 GCs/s; mean heap 4.000MiB, 2.000MiB live.\n" +
			"GC time by the runtime's own clock, which counts waits, and all CPUs while the world is stopped: 4.2% background marking, 2.1% mark assists, 6.5% marking on idle CPUs, 87.1% stop-the-world."},
		{"mixed", line + "x" + line, "GC: at least 1 cycle in"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c gctrace.Counter
			_, _ = c.Write([]byte(tt.text))
			if got := strings.Join(Trace(&c), "\n"); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Several runs are taken together; those that failed do not count.
func TestDigestOfSamples(t *testing.T) {
	sample := func(cycles int, wall float64, failure string) *trial.Sample {
		return &trial.Sample{Wall: wall, Failure: failure, GCCounted: trial.GCComplete, GCCycles: &cycles, GC: new(gccount.OfTrace(gctrace.Summary{Cycles: cycles, HeapSum: uint64(cycles) << 20}))}
	}
	samples := []*trial.Sample{sample(10, 1, ""), sample(50, 2, ""), sample(9999, 1, "exit code 1"), sample(60, 5, "")}
	if got := DigestOf([]*trial.Sample{sample(10, 0, "")}); got != nil {
		t.Errorf("of no time: %q", got)
	}
	for name, c := range map[string]struct {
		samples []*trial.Sample
		want    string
	}{
		"the rate is that of the medians": {samples, "25 GCs/s; mean heap 1.000MiB"},
		"one that was not read":           {append(samples[:2:2], &trial.Sample{Wall: 1}), "At least 30 GCs/s; mean heap 1.000MiB, 0B live, of the cycles seen."},
		"a part": {[]*trial.Sample{{Wall: 4, GCCounted: trial.GCPartial, GCCycles: new(2), GC: new(gccount.OfTrace(gctrace.Summary{Cycles: 2, HeapSum: 2 << 20}))}},
			"At least one GC per 2.000s; mean heap 1.000MiB, 0B live, of the cycles seen."},
		"in one run of three": {[]*trial.Sample{sample(0, 1, ""), sample(0, 1, ""), sample(2, 1, "")}, "Mean heap 1.000MiB"},
	} {
		if got := DigestOf(c.samples); len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := DigestOf([]*trial.Sample{{Wall: 1}}); got != nil {
		t.Errorf("not read: %q", got)
	}
}
