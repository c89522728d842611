package main

import (
	"slices"

	"github.com/foliomem/folio/cmd/bench/internal/guarded"
	"github.com/foliomem/folio/cmd/internal/lab/settings"
)

// A workload is a program and what is asked of it. Its time to settle is enough for
// folio collapse, which takes its time.
type workload struct {
	name, about string
	pkg         string
	module      bool // pkg is a module of its own
	args, quick []string
	reserve     string // for the arm with a reserve
	arms        []string
	khugepaged  bool   // khugepaged hardly rests, in all arms
	memory      uint64 // as much as it takes, in bytes; see touch
	op          string
	opUnit      float64
	columns     []column
}

const (
	stock    = "stock"
	auto     = "auto"
	reserve  = "auto+reserve"
	all      = "auto+gc"
	collapse = "folio collapse"
	always   = "THP=always"
	both     = "auto+always"
)

var workloads = []workload{
	{
		name: "map", about: "a map of 8 million entries, about 680 MiB, looked up in no order",
		pkg: "./cmd/bench/goheap/worker", args: []string{"-workload", "map", "-settle", "9s"},
		quick:   []string{"-entries", "1000000", "-settle", "3s"},
		reserve: "1GiB", arms: []string{stock, auto, reserve, all, collapse, always},
		memory: 1 << 30, op: "a lookup", opUnit: 1e-9, columns: timed,
	},
	{
		name: "cache", about: "a cache of 4 million user profiles by ristretto, read in no order",
		pkg: "cmd/bench/goheap/peers", module: true, args: []string{"-workload", "cache", "-settle", "20s"},
		quick:   []string{"-size", "400000", "-settle", "3s"},
		reserve: "4GiB", arms: []string{stock, auto, reserve, collapse, always},
		memory: 3 << 30, op: "a read", opUnit: 1e-9, columns: timed,
	},
	{
		name: "bleve", about: "an in-memory index of 1500 Go source files by bleve, built and then searched",
		pkg: "cmd/bench/goheap/peers", module: true, args: []string{"-workload", "index"}, quick: []string{"-size", "200", "-settle", "3s"},
		reserve: "1GiB", arms: []string{stock, auto, reserve, collapse, always},
		memory: 1 << 30, op: "a search", opUnit: 1e-6, columns: timed,
	},
	{
		name: "sparse", about: "700 MiB of which one page in 64 is left, after 60 s",
		pkg: "./cmd/bench/goheap/worker", args: []string{"-workload", "sparse", "-settle", "60s"}, quick: []string{"-settle", "3s"},
		reserve: "1GiB", arms: []string{stock, auto, collapse}, columns: sized,
	},
	{
		name: "shrink", about: "700 MiB that shrink to one page in 64, 20 s later, with max_ptes_none=511 and a khugepaged that hardly rests",
		pkg: "./cmd/bench/goheap/worker", args: []string{"-workload", "shrink", "-settle", "20s"}, quick: []string{"-settle", "3s"},
		reserve: "1GiB", arms: []string{stock, auto, reserve, always, both}, khugepaged: true, columns: sized,
	},
}

// environment is what an arm runs with.
func (l workload) environment(arm string) []string {
	folio := map[string]string{
		auto: "gc=off", both: "gc=off", reserve: "gc=off,reserve=" + l.reserve, all: "", // the defaults
	}
	v, ok := folio[arm]
	if !ok {
		v = "off"
	}
	return []string{"FOLIO=" + v}
}

// changes are the settings that an arm needs.
func (l workload) changes(arm string) (out []settings.Change) {
	if arm == always || arm == both {
		out = append(out, settings.Change{Path: guarded.THP + "enabled", Value: "always"})
	}
	if l.khugepaged {
		out = append(out, settings.Change{Path: guarded.THP + "khugepaged/max_ptes_none", Value: "511"},
			settings.Change{Path: guarded.THP + "khugepaged/scan_sleep_millisecs", Value: "100"},
			settings.Change{Path: guarded.THP + "khugepaged/pages_to_scan", Value: "65536"})
	}
	return out
}

// chosen are the arms that run.
func (b *bench) chosen(l workload) []string {
	return slices.DeleteFunc(slices.Clone(l.arms), func(a string) bool { return a != stock && !b.arms(a) })
}
