package result

import (
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/result/suggest"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// A Suggest is what folio suggest found. What is not known is null.
type Suggest struct {
	Header

	Host    host.Info `json:"host"`
	Command []string  `json:"command" redact:"command"` // empty: only a profile was read
	Profile *string   `json:"profile" redact:"blank"`   // the file; null: folio took it itself

	Cost  SuggestCost `json:"cost"`
	Total Allocations `json:"total"`

	Suggestions []Suggestion `json:"suggestions"` // the most bytes first
	Others      []OtherSite  `json:"others"`
	// Tree is the bytes that were allocated by call path: those that were freed, and those
	// in use.
	Tree *profile.Tree `json:"call_tree,omitempty"`
	// Nothing says why there are no suggestions.
	Nothing *string  `json:"nothing_to_gain" redact:"prose"`
	Notes   []string `json:"notes" redact:"prose"`
}

// SuggestCost is what the run cost.
type SuggestCost struct {
	Wall       *float64 `json:"wall_seconds"`
	CPU        *float64 `json:"cpu_seconds"`
	GC         *float64 `json:"gc_cpu_seconds"`
	Allocation *float64 `json:"allocation_seconds"`
}

// Allocations are counted, or estimated from a profile's samples.
type Allocations struct {
	AllocBytes   int64 `json:"alloc_bytes"`
	AllocObjects int64 `json:"alloc_objects"`
	InuseBytes   int64 `json:"inuse_bytes"`
	InuseObjects int64 `json:"inuse_objects"`
}

// A CallSite is a line of the program that allocates.
type CallSite struct {
	Func   string  `json:"func" redact:"keep"`
	File   string  `json:"file" redact:"file"`
	Line   int64   `json:"line"`
	Inside *string `json:"inside" redact:"keep"` // of the standard library, which allocated; null: the line itself
	Allocations
	Share float64 `json:"bytes_fraction"` // of all bytes
}

// Suggestion is a call site that would gain from an arena.
type Suggestion struct {
	CallSite
	Objects float64  `json:"objects_fraction"`
	Kept    float64  `json:"inuse_fraction"` // of its bytes
	Life    *float64 `json:"life_seconds"`
	Samples *float64 `json:"samples"`
	// Parts of the CPU time.
	GC     *float64 `json:"gc_cpu_fraction"`
	Low    *float64 `json:"gain_low_fraction"`
	High   *float64 `json:"gain_high_fraction"`
	Source *string  `json:"source" redact:"drop"`
	Sketch string   `json:"sketch" redact:"sketch"`
}

// An OtherSite allocates much, and an arena is not the answer.
type OtherSite struct {
	CallSite
	Why string `json:"why" redact:"prose"`
}

// Place returns the file's name and line.
func (s CallSite) Place() string {
	return (&suggest.Site{File: s.File, Line: s.Line}).Place()
}

func newCallSite(s suggest.Site, share float64) CallSite {
	return CallSite{s.Func, s.File, s.Line, text(s.Inside), newAllocations(s), share}
}

func newAllocations(s suggest.Site) Allocations {
	return Allocations{s.AllocBytes, s.AllocObjects, s.InuseBytes, s.InuseObjects}
}

// NewSuggest makes the result of advice. Where it was measured, and of what, is for the
// caller to fill in.
func NewSuggest(folio string, a *suggest.Advice, notes []string) *Suggest {
	f := &Suggest{
		Header: NewHeader(SuggestSchema, KindSuggest, folio), Command: []string{},
		Cost:  SuggestCost{Finite(a.Cost.Wall), Finite(a.Cost.CPU), Finite(a.Cost.GC), Finite(a.Cost.Allocation)},
		Total: newAllocations(a.Total), Nothing: text(a.Nothing), Tree: a.Tree,
		Suggestions: []Suggestion{}, Others: []OtherSite{}, Notes: list(notes),
	}
	for _, s := range a.Suggestions {
		f.Suggestions = append(f.Suggestions, Suggestion{
			CallSite: newCallSite(s.Site, s.Share), Objects: s.Objects, Kept: s.Kept, Life: Finite(s.Life), Samples: Finite(s.Samples),
			GC: Finite(s.GC), Low: Finite(s.Low), High: Finite(s.High), Source: text(strings.TrimSpace(s.Source)), Sketch: s.Sketch,
		})
	}
	for _, o := range a.Others {
		f.Others = append(f.Others, OtherSite{newCallSite(o.Site, o.Share), o.Why})
	}
	return f
}

// JSON returns the file's text.
func (f *Suggest) JSON() ([]byte, error) { return indented(f) }
