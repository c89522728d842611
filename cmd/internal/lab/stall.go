package lab

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

var stall = &Experiment{
	Name:     "stall",
	Question: "How long can the first touch of memory take when free memory is in pieces?",
	Source:   "Evan Jones (2023): the kernel may move memory around to make a huge page; Go issue 61718 (2023): a stall of 333 ms instead of 0.63 ms",
	Figures: []Figure{
		{Key: "p99_seconds", Label: "first touch p99", Unit: "p99-sec"},
		{Key: "p50_seconds", Label: "p50", Unit: "p50-sec"},
		{Key: "max_seconds", Label: "max", Unit: "max-sec"},
		{Key: "window_seconds", Label: "to fill a window, p50", Unit: "window-sec"},
		{Key: "huge_fraction", Label: "huge", Unit: "huge-fraction"},
		{Key: "free_windows", Label: "whole windows free", Unit: "free-windows"},
	},
	// The count is the seconds that putting memory into pieces may take.
	defaults: Params{Size: 512 << 20, Count: 40, Rounds: 6},
	quick:    Params{Size: 128 << 20, Count: 12, Rounds: 3},
	arms:     stallArms,
	work:     stallWork,
	noWarmup: true,
	meaning:  stallMeaning,
}

// inPieces has an arm put the machine's free memory into pieces first.
const inPieces = "pieces"

// perWindow is about how long it takes to put a window into pieces.
const perWindow = time.Millisecond

func stallArms(m *Machine, p Params) []*Arm {
	arms := []*Arm{
		m.memoryArm("base", "base pages; free memory as it is", page.Base, 0, p.Size),
		m.memoryArm("thp", "huge pages; free memory as it is", page.THP, 0, p.Size),
		m.memoryArm("base-pieces", "base pages; free memory in pieces", page.Base, 0, p.Size),
		m.memoryArm("thp-pieces", "huge pages; free memory in pieces", page.THP, 0, p.Size),
	}
	for _, defrag := range []string{"always", "defer", "defer+madvise", "madvise", "never"} {
		a := m.memoryArm("defrag-"+defrag, "as thp-pieces, with defrag = "+defrag, page.THP, 0, p.Size)
		a.Changes = append(a.Changes, settings.Change{Path: m.file(thpDir, "defrag"), Value: defrag})
		arms = append(arms, a)
	}
	for _, a := range arms[2:] {
		a.Task.How = inPieces
		if need := time.Duration(m.FreeWindows) * perWindow; a.NotRun == "" && need > time.Duration(p.Count)*time.Second {
			a.NotRun = fmt.Sprintf("there is too much free memory: it would take some %v to put it into pieces, more than the %d s allowed", need.Round(time.Second), p.Count)
		}
		if m.HugePage == 0 && a.NotRun == "" {
			a.NotRun = "memory is put into pieces by way of huge pages, and the kernel has none"
		}
	}
	return arms
}

func stallWork(p *probe, t Task) error {
	window, small := page.WindowSize(), page.Size()
	if t.How == inPieces {
		pieces, err := shatter(time.Duration(t.Count) * time.Second)
		defer func() {
			for _, m := range pieces {
				_ = m.Close() // the process ends now anyway
			}
		}()
		if err != nil {
			return err
		}
	}
	settle()
	whole := freeWindows()
	m, err := p.mapping(t.Size, page.Lazy)
	if err != nil {
		return err
	}
	base := start(m)
	n := int(t.Size) / window
	first, full := make([]time.Duration, n), make([]time.Duration, n)
	for i := range n {
		first[i], full[i] = 1, 1 // no fault for the record while it is made
	}
	for i := range n {
		w := unsafe.Add(base, i*window) // Safety: the window lies within the n*window <= t.Size bytes of m.
		begin := time.Now()
		touch(w, 1, 1)
		first[i] = time.Since(begin)
		touch(w, uint64(window), uint64(small))
		full[i] = time.Since(begin)
	}
	resident, isHuge, err := huge(m)
	if err = errors.Join(err, m.Close()); err != nil {
		return err
	}
	fraction := 0.0
	if resident > 0 {
		fraction = float64(isHuge) / float64(resident)
	}
	slices.Sort(first)
	p.point(t.Size, value{"p99_seconds", quantile(first, 0.99).Seconds()}, value{"p50_seconds", quantile(first, 0.5).Seconds()},
		value{"max_seconds", first[n-1].Seconds()}, value{"window_seconds", median(full).Seconds()},
		value{"huge_fraction", fraction}, value{"free_windows", float64(whole)})
	return nil
}

// shatter puts free memory into pieces: in nearly every free window of the
// machine one base page is taken, and stays taken until the mappings returned
// are closed. That is 1/512 of the memory, and a little more meanwhile.
func shatter(most time.Duration) (out []*page.Mapping, err error) {
	window, small := page.WindowSize(), page.Size()
	chunk := chunkWindows * window
	free, err := procmem.FS{}.Meminfo()
	if err != nil {
		return nil, err
	}
	total := int(value0(free.MemAvailable) / uint64(window))
	begin := time.Now()
	// Down to about a chunk: what is fewer, other programs free and take all the time.
	for left := freeWindows(); left > chunkWindows+chunkWindows/2; left = freeWindows() {
		if took := time.Since(begin); took > most || len(out)*chunkWindows > total+total/2 {
			return out, fmt.Errorf("%w: after %v, %d windows of free memory are still whole", errNotHere, took.Round(time.Second), left)
		}
		m, err := page.Map(chunk, &page.Options{Kind: page.THP, Commit: page.Populate, Name: "folio lab pieces"})
		if err != nil {
			return out, err
		}
		out = append(out, m)
		bytes := m.Bytes()
		for off := 0; off < chunk; off += window {
			bytes[off] = 1 // a page of zeros would be released when its huge page is split
			// To release a part of a huge page does not free it: the kernel splits it
			// when memory is short. Cold advice for a part splits it now.
			_, err1 := m.Release(off, small, page.ReleaseCold, &page.ReleaseOptions{Split: true})
			_, err2 := m.Release(off+small, window-small, page.ReleaseDontNeed, &page.ReleaseOptions{Split: true})
			if err := errors.Join(err1, err2); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// chunkWindows is how many windows are put into pieces at a time.
const chunkWindows = 64

func stallMeaning(o *Outcome) []string {
	size := o.Params.Size
	tp := o.at(o.Arm("thp"), size, "p99_seconds")
	bp, hp := o.at(o.Arm("base-pieces"), size, "p99_seconds"), o.at(o.Arm("thp-pieces"), size, "p99_seconds")
	if tp == 0 || hp == 0 {
		return nil
	}
	out := []string{fmt.Sprintf("When free memory is in pieces, the slowest 1%% of first touches of a huge page take %s (%s when it is whole, %s with base pages), at worst %s; %s of that memory became huge.",
		unit.Seconds(hp), unit.Seconds(tp), unit.Seconds(bp),
		unit.Seconds(o.at(o.Arm("thp-pieces"), size, "max_seconds")), unit.Percent(o.at(o.Arm("thp-pieces"), size, "huge_fraction")))}
	var settings []*ArmResult // of defrag, the shortest tail first
	for _, a := range o.Arms {
		if len(a.Arm.Changes) > 0 && o.at(a, size, "p99_seconds") > 0 {
			settings = append(settings, a)
		}
	}
	tail := func(a *ArmResult) float64 { return o.at(a, size, "p99_seconds") }
	slices.SortStableFunc(settings, func(a, b *ArmResult) int { return cmp.Compare(tail(a), tail(b)) })
	if len(settings) > 1 && o.decided(settings[1], settings[0], "p99_seconds", tail(settings[1])/tail(settings[0])) {
		best := settings[0]
		out = append(out, fmt.Sprintf("Of the defrag settings, %s has the shortest tail: %s, with %s huge.",
			best.Arm.Name, unit.Seconds(tail(best)), unit.Percent(o.at(best, size, "huge_fraction"))))
	}
	return out
}
