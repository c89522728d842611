package lab

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial/load"
)

// What each arm is built with, and runs under.
func TestAssistArms(t *testing.T) {
	m := machine("")
	const plain = "GOMEMLIMIT= FOLIO= FOLIO_HUGEPAGES= GOGC= FOLIO_ASSIST="
	for name, want := range map[string]string{
		"stock":       "stock: " + plain,
		"assist-on":   "gc-noassist: " + plain + "on",
		"gc-noassist": "gc-noassist: " + plain,
		"bound-10":    "gc-noassist: " + plain + "10%",
		"bound-25":    "gc-noassist: " + plain + "25%",
		"assist-off":  "gc-noassist: " + plain + "off",
	} {
		a := find(t, assist, m, name)
		s := setting(a)
		if got := a.Task.How + ": " + strings.Join(s.Env, " "); got != want || s.MemLimit != 0 || s.GOGC != "" {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if n := len(assist.Arms(m, assist.defaults)); n != 6 {
		t.Errorf("%d arms", n)
	}
}

func TestMissed(t *testing.T) {
	h := &load.Histogram{Nanoseconds: []int64{9e6, 10e6, 10e6 + 1, 50e6}, Counts: []int64{5, 2, 2, 1}}
	if got := missed(h, 10*time.Millisecond); got != 0.3 {
		t.Errorf("%v of the requests took longer, want 0.3", got)
	}
	if got := missed(&load.Histogram{}, time.Millisecond); got != 0 {
		t.Errorf("of none: %v", got)
	}
}

func TestAssistMeaning(t *testing.T) {
	row := func(p99, p999, heap float64) map[string]float64 {
		return map[string]float64{p99Key: p99, p999Key: p999, "missed_fraction": 0.02, heapKey: heap * (1 << 20), "assist_seconds": 0.25, "cpu_seconds": 2}
	}
	late := row(0.02, 0.04, 100)
	delete(late, p99Key)
	delete(late, p999Key)
	const first = "Stock: p99 20.00ms, p99.9 40.00ms, 2.0% of requests over 10ms; goroutines assist for 250.0ms of 2.000s of CPU time."
	for _, tt := range []struct {
		name   string
		rounds int
		arms   map[string]map[string]float64
		want   []string
	}{
		{"all", 6, map[string]map[string]float64{"stock": row(0.02, 0.04, 100), "assist-on": row(0.02, 0.04, 100),
			"gc-noassist": row(0.01, 0.02, 104), "assist-off": row(0.005, 0.01, 150)}, []string{
			strings.Replace(first, "20.00ms", "20.05ms", 1), // the first figure differs a little from round to round
			"assist-on: no other latency beyond doubt; peak heap 1.00x of stock's, within 1.10x.",
			"gc-noassist: p99 10.02ms instead of 20.05ms, p99.9 20.00ms instead of 40.00ms; peak heap 1.04x of stock's, within 1.10x.",
			"assist-off: p99 5.012ms instead of 20.05ms, p99.9 10.00ms instead of 40.00ms; peak heap 1.50x of stock's, more than 1.10x.",
			"Undecided by 6 runs per arm: assist-on against stock (1.00x); assist-on against stock, p99.9 (1.00x).",
		}},
		{"few", 3, map[string]map[string]float64{"stock": row(0.02, 0.04, 100), "assist-off": row(0.01, 0.02, 150)}, []string{
			strings.Replace(first, "20.00ms", "20.02ms", 1),
			"assist-off: no other latency beyond doubt; peak heap 1.50x of stock's, in too few rounds to tell it from 1.10x.",
			"Undecided by 3 runs per arm: assist-off against stock (2.00x); assist-off against stock, p99.9 (2.00x).",
		}},
		{"late", 5, map[string]map[string]float64{"stock": late, "gc-noassist": row(0.01, 0.02, 104)}, []string{
			"The load was sent late in 5 of 10 runs: their latencies are left out. Leave the machine alone meanwhile.",
			"Nothing is known of stock's latency.",
		}},
		{"alone", 5, map[string]map[string]float64{"stock": row(0.02, 0.04, 100)}, []string{strings.Replace(first, "20.00ms", "20.04ms", 1)}},
		{"nothing", 0, nil, nil},
	} {
		if got := outcome(assist, tt.rounds, tt.arms).Conclusions(); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, strings.Join(got, "\n     "), strings.Join(tt.want, "\n     "))
		}
	}
}
