package profile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/foliomem/folio/internal/system/perf"
)

// Result says where the time of a process tree went.
type Result struct {
	Samples      uint64 `json:"samples"`
	Lost         uint64 `json:"lost"`
	Unsymbolized uint64 `json:"unsymbolized"` // samples in code whose name is not known
	Hardware     bool   `json:"hardware"`     // the processor's cycles were sampled, not a clock
	Kernel       bool   `json:"kernel"`       // the kernel's side was seen
	// Classes are those that took time, in the order of [Classes]. Their fractions
	// add up to 1, their seconds to user and system time.
	Classes []ClassShare `json:"classes"`
	// GCFraction is the share of the classes of [GC], MemoryTaxFraction that of
	// all memory classes: 0 <= GCFraction <= MemoryTaxFraction <= 1. Both are nil,
	// unknown, where too much time is in code without names; then the classes are
	// lower bounds.
	GCFraction        *float64 `json:"gc_cpu_fraction"`
	MemoryTaxFraction *float64 `json:"memory_tax_fraction"`
	// Sites are the ten places of the program that cause most of the memory tax.
	// What no place causes, such as GC workers, is not in them.
	Sites []Site `json:"sites"`

	Faults uint64 `json:"faults,omitempty"` // page faults
	// HeapFaults are those in the heaps of Go programs: what huge pages there can
	// save.
	HeapFaults uint64 `json:"heap_faults,omitempty"`
	// LargestFaults are those of the process that took most.
	LargestFaults uint64       `json:"largest_process_faults,omitempty"`
	FaultClasses  []FaultShare `json:"fault_classes,omitempty"`
	// FaultSites are the ten places of the program that cause most page faults.
	FaultSites []Site `json:"fault_sites,omitempty"`
	// TLBMisses are loads for which the processor had to walk the page tables;
	// nil where that cannot be counted.
	TLBMisses *uint64 `json:"tlb_misses,omitempty"`
	// UncertainNames says why names of functions and lines may be wrong: a program
	// was built by a version of Go that this folio does not know. "" if none was.
	UncertainNames string   `json:"uncertain_names,omitempty" redact:"prose"`
	Notes          []string `json:"notes,omitempty" redact:"prose"`
	remarks        []remark // what Notes say; none of a result that was read
}

// ClassShare is how much time a class took.
type ClassShare struct {
	Class    Class   `json:"class" redact:"keep"`
	Seconds  float64 `json:"seconds"`
	Fraction float64 `json:"fraction"` // of user and system time
}

// FaultShare is how many page faults code of a class took.
type FaultShare struct {
	Class    Class   `json:"class" redact:"keep"`
	Faults   uint64  `json:"faults"`
	Fraction float64 `json:"fraction"` // of all faults
}

// Site is a place in the program.
type Site struct {
	Func string `json:"func" redact:"keep"`
	File string `json:"file" redact:"file"`
	Line int    `json:"line"`
	// Uncertain is set if the function and the line may be wrong, see
	// [Result.UncertainNames].
	Uncertain bool `json:"uncertain,omitempty"`
	// Seconds is the memory tax that this place causes; 0 in FaultSites.
	Seconds float64 `json:"seconds"`
	// Fraction is the share of user and system time; in FaultSites of all faults.
	Fraction float64 `json:"fraction"`
	// Classes are the parts that classes have in this place; they add up to 1.
	Classes map[Class]float64 `json:"classes"`
	Faults  uint64            `json:"faults,omitempty"`
}

// Name is the function, marked where it may be another.
func (s *Site) Name() string {
	if s.Uncertain {
		return s.Func + " (name uncertain)"
	}
	return s.Func
}

// Place is the file and line, as an editor opens them, less the directories;
// empty if they are not known.
func (s *Site) Place() string {
	if s.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", s.File[strings.LastIndexByte(s.File, '/')+1:], s.Line)
}

const mostSites = 10

type siteKey struct {
	name, file string
	line       int
	doubt      bool
}

// processes sums up by process, of a bounded number of them.
type processes map[int]uint64

const mostProcesses = 1 << 14

func (p *processes) add(pid int, n uint64) {
	if *p == nil {
		*p = make(processes)
	}
	if _, ok := (*p)[pid]; ok || len(*p) < mostProcesses {
		(*p)[pid] += n
	}
}

// largest is what the process with the most has.
func (p processes) largest() (n uint64) {
	for _, of := range p {
		n = max(n, of)
	}
	return n
}

// tally sums up sites.
type tally map[siteKey]map[Class]float64

func (t tally) add(f *frame, class Class, amount float64) {
	k := siteKey{f.name, f.file, f.line, f.doubt}
	if t[k] == nil {
		t[k] = make(map[Class]float64)
	}
	t[k][class] += amount
}

// top returns the largest sites, with amounts in Seconds.
func (t tally) top() []Site {
	sites := make([]Site, 0, len(t))
	for k, classes := range t {
		s := Site{Func: k.name, File: k.file, Line: k.line, Uncertain: k.doubt, Classes: classes}
		for _, class := range slices.Sorted(maps.Keys(classes)) { // the same sum every time
			s.Seconds += classes[class]
		}
		if s.Seconds <= 0 {
			continue
		}
		for class := range classes {
			classes[class] /= s.Seconds
		}
		sites = append(sites, s)
	}
	slices.SortFunc(sites, func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Func, b.Func), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return sites[:min(len(sites), mostSites)]
}

// Accounts are what the kernel counted: samples are scaled to them.
type Accounts struct {
	User, Sys float64 // seconds of CPU time of the process tree
	// Faults are the page faults of what was sampled; 0 if unknown.
	Faults uint64
	// TLBMisses are loads that had to walk the page tables; nil if unknown.
	TLBMisses *uint64
	Lost      uint64 // samples
	Info      perf.Info
}

// AccountsOf takes over what a session counted; user and sys are seconds.
func AccountsOf(s *perf.Session, user, sys float64) Accounts {
	a := Accounts{User: user, Sys: sys, Faults: s.Faults(), Lost: s.Lost(), Info: s.Info()}
	if n, ok := s.TLBMisses(); ok {
		a.TLBMisses = &n
	}
	return a
}

// Result sums up what was collected.
func (c *Collector) Result(a Accounts) *Result {
	r := &Result{Lost: a.Lost, Hardware: a.Info.Hardware, Kernel: a.Info.Kernel, Unsymbolized: c.foldedUnnamed, TLBMisses: a.TLBMisses}
	c.rescale(a)
	seconds := make(map[Class]float64)
	faults := make(map[Class]float64)
	sites, faultSites := make(tally), make(tally)
	missing := make(map[uint32]uint64)
	var periods [2]uint64
	for _, e := range c.sorted() {
		class := c.classOf(e)
		if e.kind == perf.Fault {
			n := float64(e.period) * c.faultScale
			faults[class] += n
			if f := site(c.user(e)); f != nil {
				faultSites.add(f, class, n)
			}
			continue
		}
		r.Samples += e.count
		if e.folded == "" && c.unnamed(e) {
			r.Unsymbolized += e.count
			if len(e.user) > 0 {
				missing[c.places[e.user[0]].object] += e.count
			}
		}
		periods[flag(e.inKernel)] += e.period
		amount := float64(e.period) * c.scale[flag(e.inKernel)] / 1e9
		seconds[class] += amount
		if !class.Info().Memory {
			continue
		}
		if f := site(c.user(e)); f != nil {
			sites.add(f, class, amount)
		}
	}
	whole := a.Info.Kernel && periods[0]+periods[1] > 0 // all time is in the samples
	if periods[1] == 0 && !whole {
		seconds[Kernel] += a.Sys
	}
	if periods[0] == 0 && !whole {
		seconds[Other] += a.User
	}
	r.classes(seconds, &sites)
	r.faults(faults, &faultSites)
	r.HeapFaults = min(uint64(math.Round(float64(c.heapFaults)*c.faultScale)), r.Faults)
	r.LargestFaults = min(uint64(math.Round(float64(c.faultsBy.largest())*c.faultScale)), r.Faults)
	r.UncertainNames = c.uncertain()
	c.notes(r, a.Info, missing)
	return r
}

// rescale makes the samples add up to the seconds, and those of faults to all
// that were taken: the last of each thread are in no sample. Where the kernel's
// side is seen, the samples also say how much of the time was spent there: many
// kernels account for that by their clock's ticks, which is sampling as well, less
// often. Else only the account says it.
func (c *Collector) rescale(a Accounts) {
	var periods [2]float64
	sampled := 0.0
	for _, e := range c.stacks {
		if e.kind == perf.CPU {
			periods[flag(e.inKernel)] += float64(e.period)
		} else {
			sampled += float64(e.period)
		}
	}
	c.faultScale = 1
	if sampled > 0 && a.Faults > 0 {
		c.faultScale = float64(a.Faults) / sampled
	}
	of := func(seconds, period float64) float64 {
		if period == 0 {
			return 0
		}
		return seconds * 1e9 / period
	}
	c.scale = [2]float64{of(a.User, periods[0]), of(a.Sys, periods[1])}
	if a.Info.Kernel {
		both := of(a.User+a.Sys, periods[0]+periods[1])
		c.scale = [2]float64{both, both}
	}
	if a.User+a.Sys == 0 && !a.Info.Hardware {
		// The kernel may account for very short processes by its clock's ticks:
		// not at all. The samples are all that is known then.
		c.scale = [2]float64{1, 1}
	}
}

// sorted returns the samples in an order that does not change, so that sums of
// fractions do not either.
func (c *Collector) sorted() []*sampled {
	out := make([]*sampled, 0, len(c.stacks))
	for _, k := range slices.Sorted(maps.Keys(c.stacks)) {
		out = append(out, c.stacks[k])
	}
	return out
}

func (r *Result) classes(seconds map[Class]float64, sites *tally) {
	total := 0.0
	for _, k := range Classes {
		total += seconds[k.Class]
	}
	r.Classes, r.Sites = []ClassShare{}, []Site{}
	r.GCFraction, r.MemoryTaxFraction = nil, nil
	if total <= 0 {
		return
	}
	// All sums run in the order of Classes, so that no rounding makes a part
	// larger than its whole: GC is a prefix of memory, and memory one of all.
	gc, memory := 0.0, 0.0
	for _, k := range Classes {
		s := seconds[k.Class]
		if s <= 0 {
			continue
		}
		r.Classes = append(r.Classes, ClassShare{k.Class, s, s / total})
		if k.GC {
			gc += s
		}
		if k.Memory {
			memory += s
		}
	}
	if seconds[Unnamed] <= mostUnnamed*total {
		gc, memory = gc/total, memory/total
		r.GCFraction, r.MemoryTaxFraction = &gc, &memory
	}
	r.Sites = sites.top()
	for i := range r.Sites {
		r.Sites[i].Fraction = r.Sites[i].Seconds / total
	}
}

func (r *Result) faults(faults map[Class]float64, sites *tally) {
	total := 0.0
	for _, k := range Classes {
		total += faults[k.Class]
	}
	r.Faults = uint64(math.Round(total))
	if r.Faults == 0 {
		return
	}
	for _, k := range Classes {
		if n := faults[k.Class]; n > 0 {
			r.FaultClasses = append(r.FaultClasses, FaultShare{k.Class, uint64(math.Round(n)), n / total})
		}
	}
	r.FaultSites = sites.top()
	for i := range r.FaultSites {
		s := &r.FaultSites[i]
		s.Fraction = s.Seconds / total
		s.Faults, s.Seconds = uint64(math.Round(s.Seconds)), 0
	}
}

// Shares says that the shares of the classes mean something: there are samples enough,
// and most of them in code that has names.
func (r *Result) Shares() bool {
	return r != nil && r.Samples >= Fewest && r.GCFraction != nil && r.MemoryTaxFraction != nil
}

// CPU returns the CPU time that the classes share, in seconds.
func (r *Result) CPU() (seconds float64) {
	for _, s := range r.Classes {
		seconds += s.Seconds
	}
	return seconds
}

// Recompute derives all fractions from the seconds of the classes. It is for a
// result that was read from a file: there a part could be more than its whole.
// Classes that are unknown, repeated, or without a positive time are dropped.
func (r *Result) Recompute() {
	seconds := make(map[Class]float64)
	for _, s := range r.Classes {
		if s.Seconds > 0 && !math.IsInf(s.Seconds, 0) {
			seconds[s.Class] = s.Seconds
		}
	}
	sites := r.Sites
	r.classes(seconds, &tally{})
	r.Sites = []Site{}
	whole := 0.0
	for _, s := range r.Classes {
		if s.Class.Info().Memory {
			whole += s.Seconds
		}
	}
	for _, s := range sites {
		if s.Seconds > 0 && whole > 0 {
			s.Seconds = min(s.Seconds, whole)
			s.Fraction = s.Seconds / r.CPU()
			r.Sites = append(r.Sites, s)
		}
	}
	for i := range r.FaultSites {
		r.FaultSites[i].Fraction = min(max(r.FaultSites[i].Fraction, 0), 1)
	}
}

// Share returns the share of a class, zero if it took no time.
func (r *Result) Share(class Class) ClassShare {
	for _, s := range r.Classes {
		if s.Class == class {
			return s
		}
	}
	return ClassShare{Class: class}
}

// uncertain returns why names that were looked up may be wrong.
func (c *Collector) uncertain() string {
	for n, at := range c.frames {
		for i := range at {
			if at[i].doubt {
				return c.objects[c.places[n].object].syms.Doubt()
			}
		}
	}
	return ""
}
