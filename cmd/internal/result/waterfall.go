package result

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/remedy"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// A Waterfall is the memory of a process in parts that add up to its RSS.
type Waterfall struct {
	RSS   uint64 `json:"rss_bytes"`
	Drift *int64 `json:"rss_drift_bytes"` // by how much RSS had moved in the end
	// Parts are in the order in which they are shown.
	Parts   []MemoryPart  `json:"parts"`
	Classes []MemoryClass `json:"size_classes"`
	GC      *GCState      `json:"gc"` // null: not known, or of several runtimes
	// Runtimes are the Go runtimes; left out where there is none but the program's, without
	// plugins.
	Runtimes []GoRuntime `json:"go_runtimes,omitempty"`
	// Not part of RSS.
	PageTables *uint64 `json:"page_tables_bytes"`
	Swap       *uint64 `json:"swap_bytes"`
	HugeTLB    *uint64 `json:"hugetlb_bytes"`

	Readings   []MemoryReading `json:"readings"`
	Allocators []string        `json:"allocators" redact:"keep"`
	// Arenas of glibc's malloc but for the first, and their bytes in memory: part of malloc.
	Arenas     int    `json:"malloc_arenas"`
	ArenaBytes uint64 `json:"malloc_arena_bytes"`
	// Advice is what would make the parts smaller, the largest first, and Together the most
	// that all of it can return.
	Advice   []MemoryAdvice `json:"advice"`
	Together uint64         `json:"advice_bytes"`

	Notes []string `json:"notes" redact:"prose"`
}

// A MemoryPart is a part of RSS. Only that of what changed can be below 0.
type MemoryPart struct {
	Kind  string `json:"kind" redact:"keep"`
	Bytes int64  `json:"bytes"`
	// What the runtime has of it, in memory or not, and by how much that changed while it
	// was read; null of what the runtime does not count.
	Runtime     *uint64 `json:"runtime_bytes"`
	Uncertainty *uint64 `json:"uncertainty_bytes"`
	How         string  `json:"how" redact:"keep"` // read, computed, or remainder

	Of []MemoryShare `json:"of,omitempty"`
}

// A MemoryAdvice is what makes parts of the memory smaller.
type MemoryAdvice struct {
	Rule  string `json:"rule" redact:"keep"`
	Title string `json:"title" redact:"prose"`
	// InUse says that only the program can drop this memory: it is not reclaimable.
	InUse bool `json:"in_use"`
	// Bytes is the most that can come back, Beyond what of it no advice before this one
	// can return, and Of is Bytes by part.
	Bytes  uint64        `json:"bytes"`
	Beyond uint64        `json:"beyond_bytes"`
	Of     []MemoryClaim `json:"of"`
	What   string        `json:"what" redact:"prose"`
	Means  string        `json:"means" redact:"prose"`
	Do     string        `json:"do" redact:"prose"`
	Code   string        `json:"code,omitempty" redact:"prose"`
	// Subject is the call site or the mapping that it is about.
	Subject string `json:"subject,omitempty" redact:"blank"`
	See     string `json:"reference" redact:"keep"`
}

// A MemoryClaim is what can come back of one part.
type MemoryClaim struct {
	Kind  string `json:"kind" redact:"keep"`
	Bytes uint64 `json:"bytes"`
}

// A MemoryShare is memory of one name.
type MemoryShare struct {
	Name  string `json:"name" redact:"blank"`
	Bytes uint64 `json:"bytes"`
}

// A MemoryClass is what is in spans for objects of one size.
type MemoryClass struct {
	Size     uint64 `json:"object_bytes"` // 0: large objects, which have a span each
	Spans    uint64 `json:"spans"`
	Bytes    uint64 `json:"span_bytes"`
	Objects  uint64 `json:"objects_bytes"`
	Resident uint64 `json:"resident_bytes"`
	Unused   uint64 `json:"unused_bytes"` // of Resident
}

// A MemoryReading is when something was read, in seconds from the beginning.
type MemoryReading struct {
	What string  `json:"what" redact:"keep"`
	From float64 `json:"from_seconds"`
	To   float64 `json:"to_seconds"`
}

// GCState is what the runtime says of its GC.
type GCState struct {
	Cycles uint32     `json:"cycles"` // since the program was started
	Last   *time.Time `json:"last"`   // when the last one ended; null for none
	GOGC   *int       `json:"gogc"`   // null: off
	Limit  *uint64    `json:"gomemlimit_bytes"`
}

// A GoRuntime is a Go runtime in a process: of the program, or of a library that it loaded.
type GoRuntime struct {
	File      string   `json:"file" redact:"file"`
	Program   bool     `json:"program"` // it is that of the program
	GoVersion *string  `json:"go_version" redact:"keep"`
	Module    *string  `json:"module" redact:"file"`
	Plugins   []string `json:"plugins,omitempty" redact:"file"` // files of Go plugins, which share it
	// Heap is what is in memory of its heap, and Mapped what it has mapped for all; null if
	// it could not be read, which Reason says why, or if only its profiles were.
	Heap   *uint64  `json:"heap_bytes"`
	Mapped *uint64  `json:"mapped_bytes"`
	GC     *GCState `json:"gc"`
	Reason *string  `json:"not_read" redact:"prose"`
}

// Name is that of its file.
func (r GoRuntime) Name() string { return filepath.Base(strings.TrimSuffix(r.File, " (deleted)")) }

func newRuntimes(all []waterfall.GoRuntime) (out []GoRuntime) {
	if len(all) == 1 && all[0].Main && len(all[0].Plugins) == 0 {
		return nil
	}
	for _, r := range all {
		to := GoRuntime{File: r.Path, Program: r.Main, GoVersion: text(r.Version), Module: text(r.Module), Plugins: r.Plugins, Reason: text(r.Reason)}
		if r.GC != nil {
			to.Heap, to.Mapped, to.GC = &r.Heap, &r.Mapped, newGCState(r.GC)
		}
		out = append(out, to)
	}
	return out
}

func newGCState(gc *waterfall.GC) *GCState {
	if gc == nil {
		return nil
	}
	out := &GCState{Cycles: gc.Cycles, Limit: gc.Limit}
	if !gc.Last.IsZero() {
		out.Last = new(gc.Last.UTC())
	}
	if gc.Percent >= 0 {
		out.GOGC = &gc.Percent
	}
	return out
}

// Title is the name of the part for people.
func (p MemoryPart) Title() string { return waterfall.Title(p.Kind) }

func newWaterfall(w *waterfall.Waterfall, r remedy.Remedies) *Waterfall {
	if w == nil {
		return nil
	}
	out := &Waterfall{
		RSS: w.RSS, Drift: w.Drift, Parts: []MemoryPart{}, PageTables: w.PageTables, Swap: w.Swap, HugeTLB: w.HugeTLB,
		Readings: []MemoryReading{}, Allocators: list(slices.Clone(w.Allocators)), Notes: list(slices.Clone(w.Notes)),
		Arenas: w.Arenas.Count, ArenaBytes: w.Arenas.Bytes, Advice: []MemoryAdvice{}, Together: r.Together,
	}
	for _, m := range r.List {
		a := MemoryAdvice{Rule: m.Rule, Title: m.Title, InUse: m.InUse, Bytes: m.Most, Beyond: m.Beyond, What: m.What, Means: m.Means, Do: m.Do, Code: m.Code, Subject: m.Subject, See: m.See}
		for _, s := range m.Of {
			a.Of = append(a.Of, MemoryClaim{s.Part.String(), s.Bytes})
		}
		out.Advice = append(out.Advice, a)
	}
	out.GC, out.Runtimes = newGCState(w.GC), newRuntimes(w.Runtimes)
	for _, p := range w.Parts {
		part := MemoryPart{Kind: p.Kind.String(), Bytes: p.Bytes, Runtime: p.Runtime, Uncertainty: p.Uncertainty, How: string(p.How)}
		for _, of := range p.Of {
			part.Of = append(part.Of, MemoryShare(of))
		}
		out.Parts = append(out.Parts, part)
	}
	for _, c := range w.Classes {
		out.Classes = append(out.Classes, MemoryClass(c))
	}
	for _, r := range w.Readings {
		out.Readings = append(out.Readings, MemoryReading{r.What, r.From.Seconds(), r.To.Seconds()})
	}
	return out
}

// Part returns a part by its kind, nil if there is none.
func (w *Waterfall) Part(kind string) *MemoryPart {
	for i := range w.Parts {
		if w.Parts[i].Kind == kind {
			return &w.Parts[i]
		}
	}
	return nil
}

// LargestAdvice is the advice on the most memory, in use or not; nil for none.
func (w *Waterfall) LargestAdvice() (most *MemoryAdvice) {
	if w == nil {
		return nil
	}
	for i := range w.Advice {
		if a := &w.Advice[i]; most == nil || a.Bytes > most.Bytes {
			most = a
		}
	}
	return most
}

// Changing reports whether the process changed too much while it was read for its parts
// to be of one moment: by more than a fiftieth of RSS.
func (w *Waterfall) Changing() bool {
	moved := int64(0)
	if w.Drift != nil {
		moved = max(*w.Drift, -*w.Drift)
	}
	if p := w.Part(waterfall.Changed.String()); p != nil {
		moved = max(moved, p.Bytes, -p.Bytes)
	}
	for _, p := range w.Parts {
		if p.Uncertainty != nil {
			moved = max(moved, int64(min(*p.Uncertainty, 1<<62)))
		}
	}
	return uint64(moved) > w.RSS/50
}

// NearPeak is the memory of the largest process of a run, in parts, near the peak of its RSS.
type NearPeak struct {
	Waterfall
	PID  int     `json:"pid"`
	Name string  `json:"name" redact:"keep"` // of the process, as the kernel has it
	At   float64 `json:"at_seconds"`         // since the program was started
	// OfPeak is RSS as a part of its peak: 0.95 and more, but of runs that were not read as
	// near to it.
	OfPeak float64  `json:"peak_fraction"`
	Runs   int      `json:"runs"`                         // of which it is the one with the highest peak
	Why    []string `json:"reading_notes" redact:"prose"` // what could not be read, and why
}

// PeakWaterfall returns that of the sample with the highest peak, of those that were read near
// it if there are any; nil if there is none.
func PeakWaterfall(samples []*trial.Sample) *NearPeak {
	w := trial.PeakWaterfall(Usable(samples))
	if w == nil {
		return nil
	}
	return &NearPeak{Waterfall: *newWaterfall(w.Process.Waterfall, w.Process.Remedies), PID: w.Process.PID, Name: w.Process.Name, At: w.At.Seconds(),
		OfPeak: w.OfPeak, Runs: len(Usable(samples)), Why: list(w.Process.Notes)}
}
