package main

import (
	"fmt"
	"io"

	"github.com/foliomem/folio/internal/base/unit"
)

// A total is the results of several workloads, added up.
type total struct {
	Workloads, Refused           int
	KilledBefore, KilledAfter    int // workloads with pods that passed their limit
	Harmed                       int // of which more pods did than before
	Squeezed                     int // workloads with less room for page cache than before
	GC, GCAfter, GCOracle        float64
	GCFastest                    float64
	Taken, TakenAfter, TakenBest float64
	Cost, CostAfter, CostOracle  float64
}

// add adds a result.
func (s *total) add(r *result, o options) {
	s.Workloads++
	if r.Refused != "" {
		s.Refused++
	}
	if r.Before.Kills > 0 {
		s.KilledBefore++
	}
	if r.After.Kills > 0 {
		s.KilledAfter++
	}
	if r.harmed() {
		s.Harmed++
	}
	if r.After.CacheSqueezed > r.Before.CacheSqueezed {
		s.Squeezed++
	}
	s.GC, s.GCAfter, s.GCOracle, s.GCFastest = s.GC+r.Before.GC, s.GCAfter+r.After.GC, s.GCOracle+r.Oracle.GC, s.GCFastest+r.Fastest.GC
	s.Taken, s.TakenAfter, s.TakenBest = s.Taken+r.Before.Taken, s.TakenAfter+r.After.Taken, s.TakenBest+r.Oracle.Taken
	s.Cost, s.CostAfter, s.CostOracle = s.Cost+o.cost(r.Before), s.CostAfter+o.cost(r.After), s.CostOracle+o.cost(r.Oracle)
}

// header and row print a table in Markdown.
func header(w io.Writer) error {
	_, err := io.WriteString(w, "| kind | workloads | over the limit before | after | harmed | cache squeezed more | GC core-hours before | after | oracle | GiB-hours before | after | oracle | money saved | of the oracle's |\n"+
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	return err
}

// row prints a sum.
func (s *total) row(w io.Writer, kind string) error {
	part := unit.None
	if best := s.Cost - s.CostOracle; best > 0 {
		part = unit.Percent((s.Cost - s.CostAfter) / best)
	}
	_, err := fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %s | %s |\n", kind, s.Workloads, s.KilledBefore, s.KilledAfter, s.Harmed, s.Squeezed,
		s.GC, s.GCAfter, s.GCOracle, s.Taken, s.TakenAfter, s.TakenBest, unit.Percent((s.Cost-s.CostAfter)/s.Cost), part)
	return err
}
