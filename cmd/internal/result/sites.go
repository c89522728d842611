package result

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/leak"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/program/callsite"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// A Sites is who keeps the memory of a process: what folio inspect --heap, --diff and
// --goroutines, and folio leaks found. What is not known is null.
type Sites struct {
	Header
	PID       *int     `json:"pid"` // null: only files were read
	Command   []string `json:"command" redact:"command"`
	GoVersion *string  `json:"go_version" redact:"keep"`
	// Runtimes are the Go runtimes of the process; left out where there is none but the
	// program's, without plugins.
	Runtimes []GoRuntime `json:"go_runtimes,omitempty"`

	Heap       *HeapSites      `json:"heap,omitempty"`
	Growth     *HeapGrowth     `json:"growth,omitempty"`
	Goroutines *GoroutineSites `json:"goroutines,omitempty"`
	Leaks      *Leaks          `json:"leaks,omitempty"`
	Notes      []string        `json:"notes" redact:"prose"`
}

// Functions of a SiteLine that is no line: what the runtime allocates for itself, and what is
// not known.
const (
	SiteRuntime = callsite.Runtime
	SiteUnknown = callsite.Unknown
)

// A SiteLine is a line of a program.
type SiteLine struct {
	Func string `json:"func" redact:"keep"`
	File string `json:"file" redact:"file"`
	Line int64  `json:"line"`
}

// Place returns the file's name and line; "" if they are not known.
func (s SiteLine) Place() string {
	if s.File == "" {
		return ""
	}
	return filepath.Base(s.File) + ":" + strconv.FormatInt(s.Line, 10)
}

// HeapUse is what is allocated, estimated from samples.
type HeapUse struct {
	InUseBytes   int64 `json:"inuse_bytes"`
	InUseObjects int64 `json:"inuse_objects"`
	AllocBytes   int64 `json:"alloc_bytes"`
	AllocObjects int64 `json:"alloc_objects"`
}

// HeapSites is a heap profile.
type HeapSites struct {
	HeapUse
	Rate  int64      `json:"sample_bytes"` // about one sample for so many bytes
	Sites []HeapSite `json:"sites"`        // most bytes in use first
}

// A HeapSite is a line that allocates.
type HeapSite struct {
	SiteLine
	Of      *string  `json:"of_runtime,omitempty" redact:"file"` // the file of its runtime; left out where there is one
	Inside  *string  `json:"inside" redact:"keep"`               // the function of the standard library that it called; null: the line itself
	Callers []string `json:"callers" redact:"keep"`
	HeapUse
}

// HeapGrowth is two heap profiles compared.
type HeapGrowth struct {
	Before HeapUse      `json:"before"`
	After  HeapUse      `json:"after"`
	Sites  []GrowthSite `json:"sites"` // most growth first
	// Other says that the second is not of a later time of the same process.
	Other bool `json:"other_process"`
}

// A GrowthSite is a line whose objects in use have become more, or fewer.
type GrowthSite struct {
	SiteLine
	Of      *string  `json:"of_runtime,omitempty" redact:"file"`
	Inside  *string  `json:"inside" redact:"keep"`
	Callers []string `json:"callers" redact:"keep"`
	Before  HeapUse  `json:"before"`
	After   HeapUse  `json:"after"`
	Bytes   int64    `json:"growth_bytes"`
	Objects int64    `json:"growth_objects"`
	Error   float64  `json:"sampling_error_bytes"` // 95%
}

// Certain reports whether it has changed by more than the sampling error.
func (s *GrowthSite) Certain() bool { return math.Abs(float64(s.Bytes)) > s.Error }

// GoroutineSites are the goroutines of a process.
type GoroutineSites struct {
	Total   int              `json:"total"`
	Runtime int              `json:"runtime"` // of the runtime itself, which are in no group
	Unread  int              `json:"unread"`
	Leaked  *int             `json:"leaked"` // null: the program cannot tell
	Groups  []GoroutineGroup `json:"groups"` // the most first
	Left    int              `json:"left_out"`
}

// A GoroutineGroup is goroutines of one creation site in one state, with one stack.
type GoroutineGroup struct {
	Count   int        `json:"count"`
	Of      *string    `json:"of_runtime,omitempty" redact:"file"`
	State   string     `json:"state" redact:"keep"`
	Leaked  bool       `json:"leaked"`
	Start   string     `json:"start" redact:"keep"`
	Created *SiteLine  `json:"created"` // null: the runtime started it
	Waits   *float64   `json:"longest_wait_seconds"`
	Stack   []SiteLine `json:"stack"`
	Whole   bool       `json:"whole_stack"`
	Example uint64     `json:"example_id"`
}

// Leaks is what grew while a process was watched.
type Leaks struct {
	Seconds  float64 `json:"seconds"`
	Readings int     `json:"readings"`
	Cycles   *int    `json:"heap_profiles"`    // null: it has none
	Sites    *int    `json:"allocation_sites"` // null, as those below: none could be read
	Starts   *int    `json:"goroutine_sites"`
	Parts    *int    `json:"memory_parts"`
	Enough   bool    `json:"enough_readings"`
	// HeapJudged says that the growth of the Go heap was judged: by lines, or as a whole
	// where there is no heap profile. HeapUnjudged is why it was not; null if it was, if it
	// is known to grow, or if there is no Go heap.
	HeapJudged   bool    `json:"heap_judged"`
	HeapUnjudged *string `json:"heap_not_judged" redact:"keep"`
	// LongEnough is for how long to watch it to judge the Go heap; null if it is judged, or if
	// that is not known.
	LongEnough *float64 `json:"long_enough_seconds"`
	// OverTime is null if RSS could not be read. Page faults are not counted.
	OverTime *OverTime `json:"over_time"`
	// The part of memory in which most of the growth of RSS is; null: it does not grow, or no
	// part is known to hold half of it.
	RSSPart       *string   `json:"rss_part" redact:"keep"`
	RSSPartGrowth *Growth   `json:"rss_part_growth"`
	Ended         bool      `json:"process_ended"`
	Interrupted   bool      `json:"interrupted"`
	Waiting       *Waiting  `json:"waiting_calls"` // null: not known
	Blocked       []Blocked `json:"blocked"`
	Growing       []Leak    `json:"growing"`
}

// Waiting is how many finalizers and cleanups wait to be called, or run, at the first and at the
// last reading. Cleanups are null before Go 1.25: Go 1.24 has them among the finalizers.
type Waiting struct {
	FinalizersFirst uint64        `json:"finalizers_first"`
	Finalizers      uint64        `json:"finalizers"`
	CleanupsFirst   *uint64       `json:"cleanups_first"`
	Cleanups        *uint64       `json:"cleanups"`
	Functions       []WaitingFunc `json:"functions"` // the finalizers at the last reading, the most first
}

// A WaitingFunc is a finalizer that waits for so many objects.
type WaitingFunc struct {
	SiteLine
	Count uint64 `json:"count"`
}

// A Blocked is a goroutine in which the runtime calls finalizers or cleanups, and which waits
// in one.
type Blocked struct {
	Kind    string     `json:"kind" redact:"keep"` // finalizer, cleanup
	State   string     `json:"state" redact:"keep"`
	Seconds float64    `json:"seconds"`
	Stack   []SiteLine `json:"stack"`
}

// A Leak is something that grows.
type Leak struct {
	Kind       string  `json:"kind" redact:"keep"` // heap, goroutines, memory
	From       float64 `json:"from"`
	To         float64 `json:"to"`
	Slope      float64 `json:"per_second"`
	Low        float64 `json:"per_second_low"`
	High       float64 `json:"per_second_high"`
	Confidence float64 `json:"confidence"`

	Site    *SiteLine  `json:"site"` // null: a part of memory
	Of      *string    `json:"of_runtime,omitempty" redact:"file"`
	Inside  *string    `json:"inside" redact:"keep"`
	Callers []string   `json:"callers" redact:"keep"`
	Title   *string    `json:"part" redact:"keep"`
	Name    *string    `json:"name" redact:"blank"` // of the mappings that grew the most, of memory with names
	Start   *string    `json:"start" redact:"keep"`
	State   *string    `json:"state" redact:"keep"`
	Leaked  bool       `json:"leaked"`
	Stack   []SiteLine `json:"stack"`
}

// JSON returns the file's text.
func (f *Sites) JSON() ([]byte, error) { return indented(f) }

// NewSites begins a file, of a process or, with pid 0, of files.
func NewSites(folio, kind string, pid int, command []string, goVersion string) *Sites {
	f := &Sites{Header: NewHeader(SitesSchema, kind, folio), Command: list(command), GoVersion: text(goVersion), Notes: []string{}}
	if pid != 0 {
		f.PID = &pid
	}
	return f
}

// setRuntimes says whose runtimes were read, and why others were not.
func (f *Sites) setRuntimes(all []*goruntime.Runtime) {
	var out []waterfall.GoRuntime
	for _, g := range all {
		r := waterfall.GoRuntime{Path: g.Path, Main: g.Main, Version: g.Version(), Module: g.Build.Module, Plugins: g.Plugins}
		if g.Main {
			f.GoVersion = text(r.Version)
		}
		if g.Err != nil {
			r.Reason = g.Err.Error()
			f.Notes = append(f.Notes, fmt.Sprintf("the runtime of %s was not read: %v", g.Name(), g.Err))
		}
		out = append(out, r)
	}
	f.Runtimes = newRuntimes(out)
}

func newUse(u callsite.Use) HeapUse {
	return HeapUse{u.InUseBytes, u.InUseObjects, u.AllocBytes, u.AllocObjects}
}

func newLines(frames []symbol.Frame) []SiteLine {
	out := []SiteLine{}
	for _, f := range frames {
		out = append(out, SiteLine{f.Func, f.File, int64(f.Line)})
	}
	return out
}

// SetHeap makes it that of a heap profile: the changes since nothing.
func (f *Sites) SetHeap(d *callsite.Diff, rate int64) {
	f.Heap = &HeapSites{HeapUse: newUse(d.After), Rate: rate, Sites: []HeapSite{}}
	for _, c := range d.Changes {
		f.Heap.Sites = append(f.Heap.Sites, HeapSite{SiteLine{c.Func, c.File, c.Line}, text(c.In), text(c.Inside), list(c.Callers), newUse(c.After)})
	}
}

// SetGrowth makes it that of two heap profiles.
func (f *Sites) SetGrowth(d *callsite.Diff) {
	f.Growth = &HeapGrowth{Before: newUse(d.Before), After: newUse(d.After), Other: d.Other, Sites: []GrowthSite{}}
	for _, c := range d.Changes {
		if c.Growth() == 0 && c.After.InUseObjects == c.Before.InUseObjects {
			continue
		}
		f.Growth.Sites = append(f.Growth.Sites, GrowthSite{
			SiteLine: SiteLine{c.Func, c.File, c.Line}, Of: text(c.In), Inside: text(c.Inside), Callers: list(c.Callers), Before: newUse(c.Before), After: newUse(c.After),
			Bytes: c.Growth(), Objects: c.After.InUseObjects - c.Before.InUseObjects, Error: c.Error,
		})
	}
}

// SetGoroutines makes it that of goroutines.
func (f *Sites) SetGoroutines(g *callsite.Goroutines) {
	f.Goroutines = &GoroutineSites{Total: g.Total, Runtime: g.System, Unread: g.Unread, Leaked: g.Leaked, Left: g.Left, Groups: []GoroutineGroup{}}
	for _, s := range g.Groups {
		to := GoroutineGroup{Count: s.Count, Of: text(s.In), State: s.State, Leaked: s.Leaked, Start: s.Start, Stack: newLines(s.Stack), Whole: s.Whole, Example: s.Example}
		if s.Created.Func != "" {
			to.Created = &SiteLine{s.Created.Func, s.Created.File, int64(s.Created.Line)}
		}
		if s.Longest > 0 {
			v := s.Longest.Seconds()
			to.Waits = &v
		}
		f.Goroutines.Groups = append(f.Goroutines.Groups, to)
	}
}

// mostWaiting is how many functions of finalizers that wait are kept.
const mostWaiting = 20

// EnoughProfiles is from how many heap profiles on, one of each GC cycle, a line is judged.
const EnoughProfiles = leak.Least

// SetLeaks makes it that of a process that was watched.
func (f *Sites) SetLeaks(r *leak.Report) {
	f.Leaks = &Leaks{
		Seconds: r.Elapsed.Round(time.Millisecond).Seconds(), Readings: r.Readings, Cycles: r.Cycles, Sites: r.Sites, Starts: r.Starts, Parts: r.Parts,
		Enough: leak.Enough(r.Readings), HeapJudged: r.HeapJudged, HeapUnjudged: text(r.HeapUnjudged), Ended: r.Ended, Interrupted: r.Interrupted, Growing: []Leak{}, Blocked: []Blocked{},
	}
	if r.RSS != nil {
		f.Leaks.OverTime = newOverTime(r.RSS.History, r.RSS.Growth)
		if f.Leaks.RSSPart = text(r.RSS.Part); r.RSS.PartGrowth != nil {
			f.Leaks.RSSPartGrowth = newGrowth(*r.RSS.PartGrowth)
		}
	}
	if r.Longer > 0 {
		f.Leaks.LongEnough = new(r.Longer.Seconds())
	}
	if w := r.Waiting; w != nil {
		out := &Waiting{w.First.Finalizers, w.Last.Finalizers, w.First.Cleanups, w.Last.Cleanups, []WaitingFunc{}}
		for _, p := range w.Last.Functions[:min(len(w.Last.Functions), mostWaiting)] {
			out.Functions = append(out.Functions, WaitingFunc{SiteLine{p.Func, p.File, int64(p.Line)}, p.Count})
		}
		f.Leaks.Waiting = out
	}
	for _, b := range r.Blocked {
		f.Leaks.Blocked = append(f.Leaks.Blocked, Blocked{b.What, b.State, b.For.Round(time.Millisecond).Seconds(), newLines(b.Stack)})
	}
	for _, g := range r.Found {
		to := Leak{
			Kind: g.Kind, Of: text(g.In), From: g.From, To: g.To, Slope: g.Slope, Low: g.Low, High: g.High, Confidence: g.Confidence, Inside: text(g.Inside),
			Callers: list(g.Callers), Title: text(g.Title), Name: text(g.Name), Start: text(g.Start), State: text(g.State), Leaked: g.Leaked, Stack: newLines(g.Stack),
		}
		if g.Func != "" {
			to.Site = &SiteLine{g.Func, g.File, int64(g.Line)}
		}
		f.Leaks.Growing = append(f.Leaks.Growing, to)
	}
	f.Notes = list(append(f.Notes, r.Notes...))
}

// ShortFunc returns a function's name without the path of its package.
func ShortFunc(name string) string {
	path, _, _ := strings.Cut(name, "[")
	return name[strings.LastIndexByte(path, '/')+1:]
}
