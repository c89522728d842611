package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/system/perf"
)

// fakeSymbols has a function at each multiple of 0x100.
type fakeSymbols struct {
	functions []string
	doubt     string
}

func (f *fakeSymbols) IsGo() bool                        { return true }
func (f *fakeSymbols) Doubt() string                     { return f.doubt }
func (f *fakeSymbols) Forget()                           {}
func (f *fakeSymbols) Close() error                      { return nil }
func (f *fakeSymbols) Address(off uint64) (uint64, bool) { return off + 0x400000, true }
func (f *fakeSymbols) Lookup(a uint64, call bool) []symbol.Frame {
	if call {
		a--
	}
	n := int(a-0x400000) / 0x100
	if n < 0 || n >= len(f.functions) {
		return nil
	}
	// "a<b" is a, inlined into b.
	var frames []symbol.Frame
	for _, name := range strings.Split(f.functions[n], "<") {
		dir := "/home/me/"
		if strings.HasPrefix(name, "runtime.") {
			dir = "/usr/local/go/src/runtime/"
		}
		frames = append(frames, symbol.Frame{Func: name, File: dir + "x.go", Line: int(a & 0xff), Start: 7})
	}
	return frames
}

// Functions of the fake program, by where they are.
var fakes = []string{"runtime.memclrNoHeapPointers", "runtime.mallocgc", "main.inner<main.work", "main.main",
	"runtime.gcBgMarkWorker", "main.compute"}

const (
	clearAt = iota * 0x100
	mallocAt
	workAt
	mainAt
	workerAt
	computeAt
)

// code is the program's: where a call is asked for, there is one.
func code(calls map[uint64]uint64) []byte {
	b := make([]byte, 0x1000)
	b[18] = machineAMD64
	for after, target := range calls {
		rel := int32(int64(target) - int64(after))
		b[after-5] = 0xe8
		for i := range 4 {
			b[after-4+uint64(i)] = byte(rel >> (8 * i))
		}
	}
	return b
}

func fakeCollector(calls map[uint64]uint64, opts Options) (*Collector, *perf.Handler) {
	return fakeProgram(calls, opts, "")
}

// fakeProgram is a collector of a program whose names may be in doubt.
func fakeProgram(calls map[uint64]uint64, opts Options, doubt string) (*Collector, *perf.Handler) {
	opts.open = func(m *perf.Mapping) *object {
		o := &object{path: m.Path}
		switch m.Path {
		case "/broken":
			o.err = errors.New("corrupt")
		case "[vdso]":
			o.vdso = true
		default:
			o.syms = &fakeSymbols{fakes, doubt}
			o.setCode(bytes.NewReader(code(calls)))
		}
		return o
	}
	c := New(&opts)
	h := c.Handler()
	h.Exec(1, "program")
	h.Mmap(&perf.Mapping{PID: 1, Addr: 0x10000, Len: 0x1000, Path: "/program", Exec: true})
	return c, h
}

func sampleOf(pid int, offsets ...uint64) *perf.Sample {
	s := &perf.Sample{PID: pid, Period: 1e6}
	for _, o := range offsets {
		s.User = append(s.User, 0x10000+o)
	}
	return s
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// TestUncertainNamesAreMarked is about programs of a Go that is not known: nothing
// that repeats a name of theirs does so without saying that it may be wrong.
func TestUncertainNamesAreMarked(t *testing.T) {
	const why = "Go 1.99 is newer than this folio knows: function names and lines may be wrong"
	c, h := fakeProgram(nil, Options{}, why)
	for range 100 {
		h.Sample(sampleOf(1, mallocAt, workAt, mainAt))
		h.Sample(&perf.Sample{PID: 1, Kind: perf.Fault, Period: 1, InKernel: true, User: []uint64{0x10000 + workAt}})
	}
	r := c.Result(Accounts{User: 1})
	for _, r := range []*Result{r, Mean([]*Result{r, r})} {
		if r.UncertainNames != why || !slices.Contains(r.Notes, why) {
			t.Errorf("%q, notes %q", r.UncertainNames, r.Notes)
		}
		if len(r.Sites) != 1 || len(r.FaultSites) != 1 {
			t.Fatalf("%d and %d sites", len(r.Sites), len(r.FaultSites))
		}
		for _, s := range []Site{r.Sites[0], r.FaultSites[0]} {
			if !s.Uncertain || s.Name() != "main.inner (name uncertain)" {
				t.Errorf("%+v", s)
			}
		}
	}
	var b bytes.Buffer
	if err := c.WritePprof(&b, time.Second); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil || !slices.Contains(p.Comments, why) {
		t.Errorf("comments %q, %v", p.Comments, err)
	}
	known, h := fakeCollector(nil, Options{})
	h.Sample(sampleOf(1, mallocAt, workAt, mainAt))
	if r := known.Result(Accounts{User: 1}); r.UncertainNames != "" || r.Sites[0].Uncertain {
		t.Errorf("%+v", r)
	}
}

func TestResult(t *testing.T) {
	c, h := fakeCollector(nil, Options{})
	for range 60 {
		h.Sample(sampleOf(1, computeAt+1, mainAt+9))
	}
	for range 20 {
		h.Sample(sampleOf(1, mallocAt+1, workAt+7, mainAt+9))
	}
	for range 10 {
		h.Sample(sampleOf(1, workerAt+1))
	}
	h.Sample(sampleOf(1, 0x90000))
	fork := sampleOf(2, mallocAt+1, workAt+7, mainAt+9)
	h.Fork(2, 1)
	h.Exit(1)
	for range 9 {
		h.Sample(fork) // a child has its parent's mappings
	}
	// Kernel time: half a fault of the clearing, half a call nobody knows.
	for range 5 {
		s := sampleOf(1, clearAt+1, mallocAt+3, workAt+8, mainAt+9)
		s.InKernel, s.Kernel = true, []uint64{1, 2, 3}
		h.Sample(s)
		h.Sample(&perf.Sample{PID: 1, Period: 1e6, InKernel: true})
	}
	f := sampleOf(1, clearAt+1, mallocAt+3, workAt+8, mainAt+9)
	f.Kind, f.Period = perf.Fault, 31
	h.Sample(f)
	// 100 samples in user code and 10 in the kernel are 11 s, whatever the account says
	// of which side they were on.
	r := c.Result(Accounts{User: 7, Sys: 4, Info: perf.Info{Kernel: true}, Lost: 3})
	want := map[Class]float64{GCMark: 1, Allocation: 2.9, PageFaults: 0.5, Program: 6, Unnamed: 0.1, Kernel: 0.5}
	sum := 0.0
	for _, s := range r.Classes {
		if !near(s.Seconds, want[s.Class]) || !near(s.Fraction, want[s.Class]/11) {
			t.Errorf("%s: %v s, fraction %v, want %v s", s.Class, s.Seconds, s.Fraction, want[s.Class])
		}
		sum += s.Fraction
	}
	if len(r.Classes) != len(want) || !near(sum, 1) || !near(*r.MemoryTaxFraction, 4.4/11) {
		t.Errorf("%d classes, in all %v, tax %v", len(r.Classes), sum, *r.MemoryTaxFraction)
	}
	if r.Samples != 110 || r.Lost != 3 || r.Unsymbolized != 1 || r.Faults != 31 {
		t.Errorf("%d samples, %d lost, %d unsymbolized, %d faults", r.Samples, r.Lost, r.Unsymbolized, r.Faults)
	}
	if len(r.Sites) != 2 || r.Sites[0].Func != "main.inner" || r.Sites[0].File != "/home/me/x.go" ||
		r.Sites[0].Line != 6 || !near(r.Sites[0].Seconds, 2.9) ||
		r.Sites[1].Line != 7 || !reflect.DeepEqual(r.Sites[1].Classes, map[Class]float64{PageFaults: 1}) {
		t.Errorf("sites: %+v", r.Sites)
	}
	if len(r.FaultSites) != 1 || r.FaultSites[0].Func != "main.inner" || r.FaultSites[0].Faults != 31 ||
		r.FaultSites[0].Fraction != 1 || r.FaultSites[0].Seconds != 0 {
		t.Errorf("fault sites: %+v", r.FaultSites)
	}
	if len(r.FaultClasses) != 1 || r.FaultClasses[0] != (FaultShare{Zeroing, 31, 1}) {
		t.Errorf("fault classes: %+v", r.FaultClasses)
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.HasPrefix(n, "3 samples lost") }) {
		t.Errorf("notes: %q", r.Notes)
	}
	if again := c.Result(Accounts{User: 7, Sys: 4, Info: perf.Info{Kernel: true}, Lost: 3}); !reflect.DeepEqual(again, r) {
		t.Errorf("the same again: %+v, was %+v", again, r)
	}
	// The kernel counted more faults than there are samples of.
	misses := uint64(5)
	r = c.Result(Accounts{User: 10, Sys: 4, Faults: 40, TLBMisses: &misses})
	if r.Faults != 40 || r.FaultSites[0].Faults != 40 || r.FaultSites[0].Fraction != 1 ||
		r.FaultClasses[0] != (FaultShare{Zeroing, 40, 1}) || *r.TLBMisses != 5 {
		t.Errorf("of 40 faults: %d, %+v, %+v, %d misses of the TLB", r.Faults, r.FaultSites, r.FaultClasses, *r.TLBMisses)
	}
}

func TestResultWithoutSamples(t *testing.T) {
	c := New(nil)
	defer c.Close()
	r := c.Result(Accounts{User: 0.25, Sys: 0.75, Info: perf.Info{Reason: "no kernel"}})
	want := []ClassShare{{Other, 0.25, 0.25}, {Kernel, 0.75, 0.75}}
	if !reflect.DeepEqual(r.Classes, want) || *r.MemoryTaxFraction != 0 || r.Notes[0] != "no kernel" {
		t.Errorf("%+v", r)
	}
	r = c.Result(Accounts{})
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"classes":[],"gc_cpu_fraction":null,"memory_tax_fraction":null,"sites":[]`) {
		t.Errorf("%s, %v", b, err)
	}
}

// A kernel that cannot be seen: its time is one class, the rest is as before.
func TestKernelUnseen(t *testing.T) {
	c, h := fakeCollector(nil, Options{})
	h.Sample(sampleOf(1, mallocAt+1, workAt+7))
	r := c.Result(Accounts{User: 3, Sys: 1})
	if want := []ClassShare{{Allocation, 3, 0.75}, {Kernel, 1, 0.25}}; !reflect.DeepEqual(r.Classes, want) {
		t.Errorf("%+v, want %+v", r.Classes, want)
	}
}

func TestKernelSymbols(t *testing.T) {
	symbols := kernelOf{0x10: "copy_page", 0x1f: "asm_exc_page_fault", 0x2f: "do_syscall_64"}
	for _, late := range []bool{false, true} {
		opts := Options{KernelSymbols: symbols}
		if late {
			opts.KernelSymbols = nil
		}
		c, h := fakeCollector(nil, opts)
		s := sampleOf(1, computeAt+1)
		s.InKernel, s.Kernel = true, []uint64{0x10, 0x20}
		h.Sample(s)
		s.Kernel = []uint64{0x10, 0x30}
		h.Sample(s)
		if late {
			c.SetKernelSymbols(symbols)
		}
		r := c.Result(Accounts{Sys: 2, Info: perf.Info{Kernel: true}})
		if want := []ClassShare{{PageFaults, 1, 0.5}, {Syscalls, 1, 0.5}}; !reflect.DeepEqual(r.Classes, want) {
			t.Errorf("late: %t: %+v, want %+v", late, r.Classes, want)
		}
	}
}

type kernelOf map[uint64]string

func (k kernelOf) Lookup(a uint64) string { return k[a] }

// A function without a frame hides its caller from frame pointers.
func TestHiddenCaller(t *testing.T) {
	for _, c := range []struct {
		name   string
		calls  map[uint64]uint64
		user   []uint64
		direct uint64
		want   string
		class  Class
	}{
		{"by the return address", map[uint64]uint64{mallocAt + 0x20: clearAt}, []uint64{clearAt + 5, workAt + 0x10},
			mallocAt + 0x20, "runtime.memclrNoHeapPointers:5 runtime.mallocgc:31 main.inner:15 main.work:15", Zeroing},
		{"by the call", map[uint64]uint64{workAt + 0x10: mallocAt}, []uint64{clearAt + 5, workAt + 0x10}, 0,
			"runtime.memclrNoHeapPointers:5 runtime.mallocgc:0 main.inner:15 main.work:15", Zeroing},
		{"by both", map[uint64]uint64{workAt + 0x10: mallocAt, mallocAt + 0x20: clearAt},
			[]uint64{clearAt + 5, workAt + 0x10}, mallocAt + 0x20,
			"runtime.memclrNoHeapPointers:5 runtime.mallocgc:31 main.inner:15 main.work:15", Zeroing},
		{"nothing is hidden", map[uint64]uint64{workAt + 0x10: clearAt}, []uint64{clearAt + 5, workAt + 0x10},
			workAt + 0x10, "runtime.memclrNoHeapPointers:5 main.inner:15 main.work:15", Program},
		{"any word", map[uint64]uint64{mainAt + 0x20: workAt}, []uint64{clearAt + 5, mallocAt + 0x10, workAt + 0x10},
			mainAt + 0x20, "runtime.memclrNoHeapPointers:5 runtime.mallocgc:15 main.inner:15 main.work:15", Zeroing},
		{"a call of something inside a function", map[uint64]uint64{workAt + 0x10: mallocAt + 1},
			[]uint64{clearAt + 5, workAt + 0x10}, 0, "runtime.memclrNoHeapPointers:5 main.inner:15 main.work:15", Program},
		{"no call", nil, []uint64{clearAt + 5, workAt + 0x10}, 0x500, "runtime.memclrNoHeapPointers:5 main.inner:15 main.work:15", Program},
	} {
		col, h := fakeCollector(c.calls, Options{})
		s := sampleOf(1, c.user...)
		if c.direct != 0 {
			s.Return = 0x10000 + c.direct
		}
		h.Sample(s)
		for _, e := range col.stacks {
			var got []string
			for f := range col.user(e) {
				got = append(got, fmt.Sprintf("%s:%d", f.name, f.line))
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("%s: %s, want %s", c.name, g, c.want)
			}
			if g := col.classOf(e); g != c.class {
				t.Errorf("%s: %s, want %s", c.name, g, c.class)
			}
		}
	}
}

// With too many stacks, classes and sites are the same as with few.
func TestFold(t *testing.T) {
	run := func(most int) *Result {
		c, h := fakeCollector(nil, Options{maxStacks: most})
		for i := range uint64(2000) {
			deep := []uint64{mallocAt + i%200, workAt + 7}
			for range i % 7 {
				deep = append(deep, mainAt+i%90)
			}
			h.Sample(sampleOf(1, deep...))
			h.Sample(sampleOf(1, workerAt+i%250))
			h.Sample(sampleOf(1, 0x90000))
			f := sampleOf(1, deep...)
			f.Kind = perf.Fault
			h.Sample(f)
		}
		r := c.Result(Accounts{User: 7})
		if folded := c.folds > 0; folded != (most == 100) {
			t.Errorf("most %d: %d folds", most, c.folds)
		}
		if len(c.stacks) > most {
			t.Errorf("%d stacks, most are %d", len(c.stacks), most)
		}
		r.Notes, r.remarks = nil, nil
		for i := range r.Classes {
			r.Classes[i].Seconds = math.Round(1e6 * r.Classes[i].Seconds)
			r.Classes[i].Fraction = 0
		}
		for i := range r.Sites {
			r.Sites[i].Seconds, r.Sites[i].Fraction = math.Round(1e6*r.Sites[i].Seconds), 0
		}
		return r
	}
	few, many := run(100), run(1_000_000)
	if !reflect.DeepEqual(few, many) {
		t.Errorf("folded: %+v\nnot:    %+v", few, many)
	}
}

func TestUnsymbolized(t *testing.T) {
	c, h := fakeCollector(nil, Options{})
	h.Mmap(&perf.Mapping{PID: 1, Addr: 0x30000, Len: 0x1000, Path: "/broken", Exec: true})
	h.Mmap(&perf.Mapping{PID: 1, Addr: 0x40000, Len: 0x1000, Path: "/data"}) // not code
	h.Sample(sampleOf(1, 0x20000))
	h.Sample(sampleOf(1, 0x30000))
	r := c.Result(Accounts{User: 2})
	if r.Unsymbolized != 2 {
		t.Errorf("%d unsymbolized", r.Unsymbolized)
	}
	if want := []ClassShare{{Unnamed, 2, 1}}; !reflect.DeepEqual(r.Classes, want) {
		t.Errorf("%+v, want %+v", r.Classes, want)
	}
	if r.Shares() || r.GCFraction != nil || r.MemoryTaxFraction != nil {
		t.Errorf("GC %v, memory tax %v of code without names", r.GCFraction, r.MemoryTaxFraction)
	}
	for range 18 + 20 { // as many as may be without names
		h.Sample(sampleOf(1, computeAt+1, mainAt+9))
	}
	if r := c.Result(Accounts{User: 2}); !r.Shares() || *r.GCFraction != 0 {
		t.Errorf("2 of 40 without names: %+v", r)
	}
	h.Sample(sampleOf(1, 0x20000))
	if r := c.Result(Accounts{User: 2}); r.Shares() {
		t.Errorf("3 of 41 without names: %+v", r)
	}
	notes := strings.Join(r.Notes, "\n")
	if !strings.Contains(notes, "50.0% of the samples are in /broken and have no names: corrupt") {
		t.Errorf("notes: %s", notes)
	}
}

func TestExecForgets(t *testing.T) {
	c, h := fakeCollector(nil, Options{})
	h.Sample(sampleOf(1, computeAt))
	h.Exec(1, "other")
	h.Sample(sampleOf(1, computeAt))
	if r := c.Result(Accounts{User: 1}); r.Unsymbolized != 1 || r.Samples != 2 {
		t.Errorf("%d of %d unsymbolized, want 1 of 2", r.Unsymbolized, r.Samples)
	}
}

func TestEndedProcessesAreForgotten(t *testing.T) {
	c, h := fakeCollector(nil, Options{})
	for pid := 2; pid < 5000; pid++ {
		h.Fork(pid, 1)
		h.Sample(sampleOf(pid, computeAt))
		h.Exit(pid)
	}
	if r := c.Result(Accounts{User: 1}); r.Unsymbolized != 0 || r.Samples != 4998 {
		t.Errorf("%d of %d unsymbolized", r.Unsymbolized, r.Samples)
	}
	if n := len(c.processes); n > maxEnded+1 {
		t.Errorf("%d processes are kept", n)
	}
}

func TestWritePprof(t *testing.T) {
	c, h := fakeCollector(map[uint64]uint64{workAt + 0x10: mallocAt}, Options{KernelSymbols: kernelOf{1: "exc_page_fault"}})
	h.Sample(sampleOf(1, clearAt+5, workAt+0x10, mainAt+9))
	k := sampleOf(1, computeAt+5, mainAt+9)
	k.InKernel, k.Kernel = true, []uint64{1}
	h.Sample(k)
	f := sampleOf(1, computeAt+5)
	f.Kind, f.Period = perf.Fault, 7
	h.Sample(f)
	c.Result(Accounts{User: 2, Sys: 3, Info: perf.Info{Kernel: true}})
	var b bytes.Buffer
	if err := c.WritePprof(&b, time.Second); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Sample {
		var stack []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				stack = append(stack, line.Function.Name)
			}
		}
		got = append(got, fmt.Sprint(s.Value, s.Label["class"], stack))
	}
	for _, f := range p.Function {
		if want := map[bool]int64{true: 0, false: 7}[f.Name == "exc_page_fault"]; f.StartLine != want {
			t.Errorf("%s starts at line %d, want %d", f.Name, f.StartLine, want)
		}
	}
	slices.Sort(got)
	want := []string{
		"[0 0 7] [program] [main.compute]",
		"[1 2500000000 0] [page_faults] [exc_page_fault main.compute main.main]",
		"[1 2500000000 0] [zeroing] [runtime.memclrNoHeapPointers runtime.mallocgc main.inner main.work main.main]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if p.DurationNanos != 1e9 || p.DefaultSampleType != "cpu" {
		t.Errorf("duration %d, default %s", p.DurationNanos, p.DefaultSampleType)
	}
}
