package lab

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestMallocFigures(t *testing.T) {
	var labels []string
	for _, f := range malloc.Figures {
		labels = append(labels, f.Label)
		if f.Unit != "sec/op" || f.Minor {
			t.Errorf("%+v", f)
		}
	}
	if len(labels) != 27 || strings.Join(labels[:6],
		" ") != "Malloc8 Malloc16 MallocTypeInfo8 MallocTypeInfo16 MallocLargeStruct NoScan32" || labels[26] != "Pointers32768" {
		t.Errorf("%d: %q", len(labels), labels)
	}
}

func TestMallocMeaning(t *testing.T) {
	row := func(first, second, third float64) map[string]float64 {
		return map[string]float64{"malloc8_seconds": first, "malloc16_seconds": second, "noscan32_seconds": third}
	}
	// The figures but the first are the same in all rounds: any difference is beyond doubt.
	noise := ""
	if runtime.GOARCH != "arm64" {
		noise = fmt.Sprintf(" That is the noise: the patch changes nothing on %s/%s, only on arm64.", runtime.GOOS, runtime.GOARCH)
	}
	for _, tt := range []struct {
		name   string
		rounds int
		arms   map[string]map[string]float64
		want   []string
	}{
		{"both", 6, map[string]map[string]float64{"stock": row(10e-9, 20e-9, 30e-9),
			"malloc-prefetch": row(10e-9, 20e-9, 30e-9), "heap-hugepages": row(5e-9, 40e-9, 30e-9)}, []string{
			"malloc-prefetch: +0.0% time in the geometric mean of 3 benchmarks; none differs beyond doubt." + noise,
			"heap-hugepages: +0.0% time in the geometric mean of 3 benchmarks; 1 take less time (Malloc8), 1 more (Malloc16); one in 20 would by chance alone, and more where the machine is slow for a while.",
		}},
		{"few", 3, map[string]map[string]float64{"stock": row(10e-9, 20e-9, 30e-9), "heap-hugepages": row(5e-9, 20e-9, 30e-9)}, []string{
			"heap-hugepages: -20.6% time in the geometric mean of 3 benchmarks; in so few rounds none differs beyond doubt.",
		}},
		{"alone", 6, map[string]map[string]float64{"stock": row(10e-9, 20e-9, 30e-9)}, []string{"Nothing could be built to compare stock with."}},
		{"nothing", 0, nil, nil},
	} {
		if got := outcome(malloc, tt.rounds, tt.arms).Conclusions(); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, strings.Join(got, "\n     "), strings.Join(tt.want, "\n     "))
		}
	}
}
