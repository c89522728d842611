package resulttest

import (
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/history"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/remedy"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/system/procmem"
)

func Windows() inspect.Windows {
	return inspect.Windows{
		Size: 2 << 20, Count: 100, Huge: 10, Dense: 80, Sparse: 8, OptedOut: 2, Density: [inspect.Bins]int{5, 1, 1, 0, 0, 0, 0, 1, 2, 80},
		Resident: 190 << 20, HugeSize: 20 << 20, Gain: 160 << 20, Fill: 3 << 20,
	}
}

// Inspect is one look at a process; of is what its windows are of.
func Inspect(of inspect.Kind, name string) *result.Inspect {
	w := Windows()
	f := NewInspect()
	parts := MemoryParts()
	collapse := "folio collapse 1234"
	if of != inspect.GoHeap {
		collapse = "folio collapse --all-anonymous 1234"
	}
	f.SetProcess(&inspect.Process{
		PID: 1234, Command: []string{name, "-x"}, Name: name, UID: new(1000), IsGo: new(of == inspect.GoHeap), GoVersion: "go1.26.8",
		Resident: new(uint64(200 << 20)), Swapped: new(uint64(4096)),
		Memory: []inspect.Memory{
			{Kind: inspect.GoHeap, Mappings: 1, Size: 256 << 20, Resident: 190 << 20, Huge: 20 << 20, Swapped: new(uint64(4096))},
			{Kind: inspect.File, Mappings: 9, Size: 20 << 20, Resident: 2 << 20, Swapped: new(uint64)},
		},
		Windows: &w, Of: of, Collapse: collapse, Bloat: &inspect.Bloat{Most: 1 << 20, Read: 10, Pages: 10},
		Faults: &inspect.Faults{Over: 500 * time.Millisecond, Minor: 1000, Major: 1},
		Policy: inspect.Policy{
			System: procmem.THP{Present: true, Enabled: procmem.Choice{Selected: "madvise"},
				Defrag: procmem.Choice{Selected: "madvise"}, MaxPtesNone: new(511)},
			Allowed: new(true), Advised: new(uint64(0)), Against: new(uint64(4 << 20)),
		},
		Hazards: []string{"a hazard of " + name}, Notes: []string{"a note"},
		Waterfall: parts, Remedies: remedy.Find(&remedy.Facts{Waterfall: parts, PID: 1234}),
	})
	return f
}

// OverTime is a process that was read for so long, a reading a second, and grows.
func OverTime(name string, readings int) *result.Inspect {
	h := &history.History{}
	f := Inspect(inspect.GoHeap, name)
	for i := range readings {
		grown := int64(i) << 20
		p := &inspect.Process{Limit: &inspect.Limit{Bytes: 1 << 30, Used: 300<<20 + uint64(grown)}, Waterfall: &waterfall.Waterfall{
			At: time.Unix(int64(i), 0), RSS: 200<<20 + uint64(grown), GC: &waterfall.GC{Cycles: uint32(i)},
			Parts: []waterfall.Part{{Kind: waterfall.Live, Bytes: 150<<20 + grown}, {Kind: waterfall.Unused, Bytes: 29 << 20}, {Kind: waterfall.Text, Bytes: 21 << 20}},
		}}
		h.Add(p, uint64(1000*i), uint64(i))
	}
	f.Process.Limit = &result.MemoryLimit{Cgroup: "/sys/fs/cgroup/x", Bytes: 1 << 30, Used: 300 << 20}
	f.Process.Waterfall.GC = &result.GCState{Cycles: 7, Limit: new(uint64(800 << 20))}
	f.SetHistory(h, h.All())
	return f
}

// MemoryParts are parts of 200 MiB.
func MemoryParts() *waterfall.Waterfall {
	return &waterfall.Waterfall{
		RSS: 200 << 20, PageTables: new(uint64(500 << 10)),
		Parts: []waterfall.Part{
			{Kind: waterfall.Live, Bytes: 150 << 20, Runtime: new(uint64(151 << 20)), Uncertainty: new(uint64(0)), How: waterfall.Computed},
			{Kind: waterfall.Unused, Bytes: 30 << 20, Runtime: new(uint64(30 << 20)), Uncertainty: new(uint64(0)), How: waterfall.Computed},
			{Kind: waterfall.Files, Bytes: 21 << 20, How: waterfall.Read}, {Kind: waterfall.Changed, Bytes: -1 << 20, How: waterfall.Remainder},
		},
		Classes: []waterfall.Class{{Size: 512, Spans: 30, Bytes: 31 << 20, Objects: 1 << 20, Resident: 31 << 20, Unused: 30 << 20}},
	}
}

// List is one look at all processes.
func List(name string) *result.Inspect {
	f := NewInspect()
	f.SetList(&inspect.List{
		Rows: []inspect.Row{
			{PID: 1234, Command: []string{name, strings.Repeat("x", 200)}, Name: name, UID: new(1000),
				GoVersion: "go1.26.8", Resident: 200 << 20, Windows: Windows()},
			{PID: 88, Name: "java", Resident: 20 << 20, Windows: inspect.Windows{Size: 2 << 20, Count: 4, Sparse: 4, Resident: 4 << 20}},
		},
		Small: 40, Denied: 3, DeniedBytes: 70 << 20,
	})
	return f
}

// Doctor has a finding with two steps, and one without a command.
func Doctor(name string) *result.Doctor {
	return &result.Doctor{
		Header: result.Header{Schema: result.DoctorSchema, Kind: "doctor", Folio: "v0.0.0", Created: Created},
		Host:   Host(), WatchedSeconds: 1,
		Process: &result.DoctorProcess{PID: 4242, Name: name, Command: []string{name, "-x"}, GoVersion: new("go1.26.8")},
		Findings: []diagnose.Finding{
			{Rule: "go-collector-off", Severity: diagnose.Problem, What: "The GC of " + name + " is off.",
				Means: "It grows.", Reference: "https://go.dev/doc/gc-guide",
				Evidence: []diagnose.Reading{{From: "the runtime of " + name, Says: "GOGC is off"}},
				Fix:      []diagnose.Step{{Do: "Set a limit:", Code: "GOMEMLIMIT=2GiB"}, {Do: "Or turn it on:", Code: "GOGC=100"}}},
			{Rule: "freed-but-resident", Severity: diagnose.Note, What: "memory was freed lazily", Means: "It counts.",
				Reference: "https://example.com", Evidence: []diagnose.Reading{}, Fix: []diagnose.Step{{Do: "Have its allocator use MADV_DONTNEED."}}},
		},
		Checks: []result.DoctorCheck{
			{ID: "go-collector-off", Title: "the GC is off", Scope: diagnose.OfGo, State: diagnose.Found},
			{ID: "swapping", Title: "memory is swapped", Scope: diagnose.Host, State: diagnose.NotChecked, Why: new("no file of " + name)},
			{ID: "thp-never", Title: "huge pages are off", Scope: diagnose.Host, State: diagnose.Clean},
		},
		Notes: []string{"a note"},
	}
}

// Suggest has a call site that would gain, and one that would not.
func Suggest(name string) *result.Suggest {
	site := result.CallSite{Func: name + ".parse", File: "/src/parse.go", Line: 7,
		Allocations: result.Allocations{AllocBytes: 64 << 20, AllocObjects: 1 << 20, InuseBytes: 4096}, Share: 0.8}
	other := result.CallSite{Func: name + ".name", File: "/src/name.go", Line: 9, Inside: new("fmt.Sprint"),
		Allocations: result.Allocations{AllocBytes: 8 << 20, AllocObjects: 1 << 16}, Share: 0.1}
	return &result.Suggest{
		Header: result.Header{Schema: result.SuggestSchema, Kind: "suggest", Folio: "v0.0.0", Created: Created},
		Host:   Host(), Command: []string{"go", "test", "-run", "^$", name},
		Cost:  result.SuggestCost{Wall: new(2.0), CPU: new(4.0), GC: new(1.0), Allocation: new(0.5)},
		Total: result.Allocations{AllocBytes: 80 << 20, AllocObjects: 1 << 21},
		Suggestions: []result.Suggestion{{CallSite: site, Objects: 0.9, Kept: 0.01, Life: new(0.02),
			Samples: new(100.0), GC: new(0.2), Low: new(0.1), High: new(0.3), Source: new("n := &" + name + "{}"),
			Sketch: "h := arena.Of[" + name + "](a)"}},
		Others: []result.OtherSite{{CallSite: other, Why: "allocated inside fmt.Sprint"}},
		Notes:  []string{"a note"},
		Tree: &result.CallTree{Runs: 1, Unit: "bytes", Functions: []profile.Function{{Name: "main.main"}, {Name: name + ".parse", File: "/src/parse.go"}}, Totals: make([]profile.Total, 2),
			Parents: []int{-1, 0}, Calls: []int{0, 1}, Lines: []int{3, 7},
			Self: profile.Self{Nodes: []int{1, 1}, Classes: []profile.Class{"freed", "in_use"}, Values: []float64{80<<20 - 4096, 4096}}},
	}
}

func NewInspect() *result.Inspect {
	f := result.NewInspect("v0.0.0")
	f.Created = Created
	return f
}
