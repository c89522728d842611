package leak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/history"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/program/callsite"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Kinds of what can grow.
const (
	Heap       = "heap"       // the objects that a line of the program allocates
	Goroutines = "goroutines" // those that a go statement starts
	Memory     = "memory"     // a part of RSS outside of the Go heap
)

// Growth below these does not count: bytes of a line, goroutines, bytes of memory.
const (
	leastHeap       = 64 << 10
	leastGoroutines = 10
	leastMemory     = 1 << 20
)

// MinConfidence is that from which on something is said to grow.
const MinConfidence = 0.95

// A Finding is something that grows.
type Finding struct {
	Kind string
	Trend
	// Confidence is the probability that something grows of all that was looked at, as
	// far as it did not happen to seem so.
	Confidence float64

	Func, File string // the line; of goroutines the go statement
	Line       int
	In         string   // the file of its runtime; "" where the process has one
	Inside     string   // the function of the standard library that it called
	Callers    []string // of the line
	Title      string   // of memory
	Name       string   // of memory with names: of the mappings that grew the most

	// Of goroutines: what most of them do, and where.
	Start, State string
	Stack        []symbol.Frame
	Leaked       bool // they wait for what nothing can reach: the program says so
}

// A Report is what became of a process that was watched.
type Report struct {
	Elapsed  time.Duration
	Readings int
	// Cycles is how many different heap profiles there were: one for each GC cycle. Nil if
	// there is no heap profile.
	Cycles *int
	// Sites, Starts and Parts are how many lines, go statements and parts of memory were
	// watched; nil where none could be read.
	Sites, Starts, Parts *int
	// HeapJudged reports whether the growth of the Go heap was judged: by lines, or as a
	// whole where there is no heap profile. HeapUnjudged says why it was not; "" if it was,
	// if it is known to grow, or if there is no Go heap.
	HeapJudged   bool
	HeapUnjudged string
	// Longer is for how long to watch it to judge the Go heap; 0 if it is judged, or if that
	// is not known.
	Longer time.Duration
	// RSS is nil where none could be read.
	RSS         *RSS
	Waiting     *Waiting // nil where it could not be read
	Blocked     []Blocked
	Found       []Finding // most bytes a second first, then goroutines
	Ended       bool      // the process has ended
	Interrupted bool
	Notes       []string
}

// RSS is that of a process while it was watched.
type RSS struct {
	History *history.History
	Growth  *history.Growth // nil with too few readings
	// Part is the part in which most of the growth is, "" if none is known; PartGrowth is
	// that part's.
	Part       string
	PartGrowth *stat.Trend
}

// A series is something over time.
type series struct {
	Finding
	points []Point
	uses   map[uint64]*[2]callsite.Use // first and last, by the size of objects
	rate   uint64                      // of the samples
}

// Watcher watches a process.
type watcher struct {
	*Report
	watch         *inspect.Watcher
	sources       []*source // none: it is not Go, or cannot be read
	begin         time.Time
	heap          map[string]*series
	starts        map[string]*series
	memory        [2]partSeries // whole and divided: see readParts
	rss           history.History
	live          []Point // the live heap, by GC cycle
	held          Point   // all objects, now
	lastCycle     uint32  // of live
	gogc          int
	looks, looked int  // how often the live heap was judged; at which cycle last
	profile       bool // there is a heap profile
	goProgram     bool
	cycles        int
	last          []float64 // when goroutines were read
	system        map[uint64]bool
	calls         map[uint64]string   // of goroutines of the runtime that call the program: what
	callbacks     map[caller]callback // at the last reading
}

// Bounds of what is kept of a program that has too much.
const maxSeries = 1 << 16

// Options say how long a process is watched, and how often it is read.
type Options struct {
	Duration time.Duration
	// Most is how long it is watched at most where the Go heap could not be judged within
	// Duration, and GC cycles will come.
	Most     time.Duration
	Interval time.Duration // about
}

// Watch watches a process. It ends when the process does, or the context.
func Watch(ctx context.Context, s *inspect.System, pid int, o Options, progress func(elapsed time.Duration, notes []string)) (*Report, error) {
	w := &watcher{
		Report: &Report{}, watch: s.Watch(pid, inspect.Options{MinDensity: inspect.MinDensity}), begin: time.Now(), heap: map[string]*series{},
		starts: map[string]*series{}, system: map[uint64]bool{}, calls: map[uint64]string{},
	}
	defer w.watch.Close()
	if err := w.attach(); err != nil {
		return nil, err
	}
	for {
		progress(time.Since(w.begin), w.Notes)
		err := w.read(ctx)
		switch {
		case ctx.Err() != nil:
			w.Interrupted = true
		case ended(err) && w.Readings > 0:
			w.Ended = true
		case err != nil:
			return nil, err
		}
		left := o.Duration - time.Since(w.begin)
		if left <= 0 && !w.decided() {
			left = o.Most - time.Since(w.begin)
		}
		if w.Interrupted || w.Ended || left <= 0 {
			break
		}
		// Not at equal distances: something that rises and falls about as often as it is read
		// would seem to grow.
		next := time.Duration(float64(o.Interval) * (0.5 + rand.Float64()))
		select {
		case <-ctx.Done():
			w.Interrupted = true
		case <-time.After(min(next, left)):
			continue
		}
		break
	}
	w.Elapsed = time.Since(w.begin)
	w.judge(ctx)
	return w.Report, nil
}

func (w *watcher) attach() error {
	p, err := w.watch.Look()
	if err != nil {
		return err
	}
	w.goProgram = p.IsGo != nil && *p.IsGo
	switch w.findSources(); {
	case p.IsGo == nil && p.Waterfall == nil:
		return fmt.Errorf("nothing of it can be watched: %s", p.Notes[len(p.Notes)-1])
	case w.goProgram:
	case p.IsGo == nil:
		w.note("whether it is a Go program is not known: only the parts of its memory are watched")
	default:
		w.note("not a Go program: only the parts of its memory are watched")
	}
	return nil
}

func (w *watcher) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(w.Notes, text) {
		w.Notes = append(w.Notes, text)
	}
}

func ended(err error) bool {
	return errors.Is(err, goruntime.ErrGone) || errors.Is(err, procmem.ErrNoProcess) || errors.Is(err, waterfall.ErrExec)
}

// read reads everything once.
func (w *watcher) read(ctx context.Context) error {
	at := time.Since(w.begin).Seconds()
	p, err := w.watch.Read()
	if err != nil {
		return err
	}
	w.Readings++
	if p.Waterfall != nil {
		w.readParts(at, p.Waterfall)
	} else if n := len(p.Notes); n > 0 { // the last one says why
		w.note("%s", p.Notes[n-1])
	}
	w.findSources()
	if len(w.sources) == 0 {
		return nil
	}
	if err := w.readGoroutines(ctx, at); err != nil {
		return err
	}
	w.readWaiting()
	return w.readProfiles(ctx, at)
}

// add adds a value to a series. What was not there before was 0.
func add(all map[string]*series, key string, at float64, times []float64, value float64) *series {
	s := all[key]
	if s == nil {
		if len(all) == maxSeries {
			return nil
		}
		s = &series{}
		for _, t := range times {
			s.points = append(s.points, Point{t, 0})
		}
		all[key] = s
	}
	if n := len(s.points); n > 0 && s.points[n-1].At == at {
		s.points[n-1].Value += value
	} else {
		s.points = append(s.points, Point{at, value})
	}
	return s
}

// fill adds 0 to those that were not seen.
func fill(all map[string]*series, at float64) {
	for _, s := range all {
		if s.points[len(s.points)-1].At != at {
			s.points = append(s.points, Point{at, 0})
		}
	}
}

// noise is the standard deviation of the growth of a line, by sampling.
func (w *watcher) noise(s *series) float64 {
	v := 0.0
	for size, u := range s.uses {
		v += callsite.Variance(u[0], u[1], float64(size), float64(s.rate), false)
	}
	return math.Sqrt(v)
}

// judge says what grows.
func (w *watcher) judge(ctx context.Context) {
	if w.Cycles != nil {
		w.Sites = new(len(w.heap))
	}
	if len(w.last) > 0 {
		w.Starts = new(len(w.starts))
	}
	w.grow(w.heap, leastHeap)
	w.grow(w.starts, leastGoroutines)
	w.judgeParts()
	w.judgeHeap()
	w.judgeRSS()
	w.stacks(ctx)
	w.noteCycles()
	order := map[string]int{Heap: 0, Goroutines: 1, Memory: 2}
	slices.SortFunc(w.Found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order[a.Kind], order[b.Kind]), cmp.Compare(b.Slope, a.Slope), strings.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line), strings.Compare(a.Title, b.Title))
	})
	if !Enough(w.Readings) {
		w.note("only %s: at least %d are needed to judge", unit.Plural(w.Readings, "reading"), Least)
	}
}

// grow adds what grows of these by at least so much.
func (w *watcher) grow(all map[string]*series, least float64) {
	active := 0
	var found []Finding
	for _, s := range all {
		if span(s.points) >= least {
			active++
		}
		if t, grows := Judge(s.points, w.noise(s), least); grows {
			s.Trend = t
			found = append(found, s.Finding)
		}
	}
	for _, f := range found {
		f.Confidence = 1 - min(f.Chance*float64(max(active, 1)), 1)
		if f.Confidence >= MinConfidence {
			w.Found = append(w.Found, f)
		}
	}
}

func span(all []Point) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range all {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	return high - low
}

// stacks adds what the goroutines that grow do now.
func (w *watcher) stacks(ctx context.Context) {
	if w.Ended || !w.stuck() && !slices.ContainsFunc(w.Found, func(f Finding) bool { return f.Kind == Goroutines }) {
		return
	}
	all, err := callsite.ReadAllGoroutines(context.WithoutCancel(ctx), runtimesOf(w.sources))
	if err != nil {
		w.note("what the goroutines do is not known: %v", err)
		return
	}
	w.judgeCallbacks(all)
	for i := range w.Found {
		f := &w.Found[i]
		for _, g := range all.Groups { // the most first
			if f.Kind == Goroutines && g.In == f.In && g.Created.Func == f.Func && g.Created.Line == f.Line && g.Start == f.Start {
				f.State, f.Stack, f.Leaked = g.State, g.Waits(), g.Leaked
				break
			}
		}
	}
}
