package diagnose

import (
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/gctrace"
	"github.com/foliomem/folio/internal/trial"
)

const ms = time.Millisecond

func TestDigest(t *testing.T) {
	tiny := gctrace.Summary{Cycles: 2000, CPU: 1000 * ms, AssistCPU: 100 * ms, IdleCPU: 200 * ms, PauseCPU: 100 * ms, HeapSum: 2000 * 4 << 20, LiveSum: 20 << 20}
	for _, tt := range []struct {
		name string
		g    gctrace.Summary
		wall float64
		want []string
	}{
		{"never", gctrace.Summary{}, 1, nil},
		{"no time", tiny, 0, nil},
		{"tiny heap", tiny, 10, []string{
			"It ran 200 times a second, on average at a heap of 4 MiB of which less than 1 MiB was live.",
			"Of its time went 60% into marking in the background, 10% into assists of goroutines that allocate, 20% into marking on processors that were idle otherwise and 10% into stops of the program.",
		}},
		{"rarely", gctrace.Summary{Cycles: 2, Forced: 2, CPU: 10 * ms, HeapSum: 300 << 20, LiveSum: 200 << 20}, 5, []string{
			"It ran every 2.50 s, on average at a heap of 150 MiB of which 100 MiB was live; the program asked for it each time (runtime.GC).",
			"Of its time went 100% into marking in the background.",
		}},
		{"asked for at times", gctrace.Summary{Cycles: 30, Forced: 1, HeapSum: 30 << 20, LiveSum: 30 << 20}, 20, []string{
			"It ran 1.5 times a second, on average at a heap of 1 MiB of which 1 MiB was live; the program asked for 4% of that (runtime.GC).",
		}},
	} {
		if got := Digest(tt.g, tt.wall); strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
	if got := Hidden(tiny, 10); !strings.HasSuffix(got, ": 200 times a second here, so judge by throughput, not by the collector's share.") {
		t.Error(got)
	}
	if got := Hidden(tiny, 100); strings.Contains(got, "throughput") {
		t.Error(got)
	}
}

// Several runs are taken together; those that failed do not count.
func TestDigestOfSamples(t *testing.T) {
	sample := func(cycles int, wall float64, failure string) *trial.Sample {
		return &trial.Sample{Wall: wall, Failure: failure, GC: &gctrace.Summary{Cycles: cycles, HeapSum: uint64(cycles) << 20}}
	}
	samples := []*trial.Sample{sample(10, 1, ""), sample(50, 2, ""), sample(9999, 1, "exit code 1"), {Wall: 1}}
	got := digest(samples, false)
	if len(got) != 2 || !strings.HasPrefix(got[0], "It ran 20 times a second, on average at a heap of 1 MiB") || !strings.HasPrefix(got[1], "Not in its account: sweeping") {
		t.Errorf("%q", got)
	}
	if got := digest(samples, true); len(got) != 1 {
		t.Errorf("sampled: %q", got)
	}
	if got := digest(samples[3:], false); got != nil {
		t.Errorf("no trace: %q", got)
	}
}
