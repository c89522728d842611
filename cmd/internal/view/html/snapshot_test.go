package html

import (
	"strings"
	"testing"
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

func windows() inspect.Windows {
	return inspect.Windows{
		Size: 2 << 20, Count: 100, Huge: 10, Dense: 80, Sparse: 8, OptedOut: 2, Density: [inspect.Bins]int{5, 1, 1, 0, 0, 0, 0, 1, 2, 80},
		Resident: 190 << 20, HugeSize: 20 << 20, Gain: 160 << 20, Fill: 3 << 20,
	}
}

// inspectFile is one look at a process; of is what its windows are of.
func inspectFile(of inspect.Kind, name string) *result.Inspect {
	w := windows()
	f := newInspect()
	parts := memoryParts()
	f.SetProcess(&inspect.Process{
		PID: 1234, Command: []string{name, "-x"}, Name: name, UID: new(1000), IsGo: new(of == inspect.GoHeap), GoVersion: "go1.26.8",
		Resident: new(uint64(200 << 20)), Swapped: new(uint64(4096)),
		Memory: []inspect.Memory{
			{Kind: inspect.GoHeap, Mappings: 1, Size: 256 << 20, Resident: 190 << 20, Huge: 20 << 20, Swapped: new(uint64(4096))},
			{Kind: inspect.File, Mappings: 9, Size: 20 << 20, Resident: 2 << 20, Swapped: new(uint64)},
		},
		Windows: &w, Of: of, Bloat: &inspect.Bloat{Most: 1 << 20, Read: 10, Pages: 10},
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

// overTimeFile is a process that was read for so long, a reading a second, and grows.
func overTimeFile(name string, readings int) *result.Inspect {
	h := &history.History{}
	f := inspectFile(inspect.GoHeap, name)
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

// The page of a process over time has its growth first, and all its figures as lanes.
func TestOverTimePage(t *testing.T) {
	text := string(pageOf(t, overTimeFile("prog", 60)))
	for _, want := range []string{
		"60.00MiB a minute</p>", "RSS grows by 60.00MiB a minute", "most of it in: live heap after the last GC", "60 readings in 59s.",
		"At this rate its cgroup reaches its limit in ", `"limit of its cgroup"`, `"used by its cgroup"`, `"GOMEMLIMIT"`, `"GC cycles a second"`,
		`"major page faults a second"`, "In 59s: 59 GC cycles, 59,000 minor and 59 major page faults.", "RSS by part, over time",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if text := string(pageOf(t, overTimeFile("prog", 3))); strings.Contains(text, "a minute</p>") || !strings.Contains(text, "its growth is not known yet") {
		t.Error("three readings have a growth")
	}
	// What no reading knows is no 0, whatever the file is.
	f := overTimeFile("prog", 60)
	for i := range 60 {
		f.Process.OverTime.Parts[0].Bytes[i] = nil
	}
	f.Process.OverTime.Parts[1].Bytes[0] = nil
	if text := string(pageOf(t, f)); !strings.Contains(text, "RSS by part, over time") || strings.Contains(text, `"live heap after the last GC","kind"`) {
		t.Error("a part that is not known is drawn")
	}
	if text := string(pageOf(t, overTimeFile("prog", 1))); strings.Contains(text, "Over time") {
		t.Error("one reading is drawn over time")
	}
}

// memoryParts are parts of 200 MiB.
func memoryParts() *waterfall.Waterfall {
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

// listFile is one look at all processes.
func listFile(name string) *result.Inspect {
	f := newInspect()
	f.SetList(&inspect.List{
		Rows: []inspect.Row{
			{PID: 1234, Command: []string{name, strings.Repeat("x", 200)}, Name: name, UID: new(1000),
				GoVersion: "go1.26.8", Resident: 200 << 20, Windows: windows()},
			{PID: 88, Name: "java", Resident: 20 << 20, Windows: inspect.Windows{Size: 2 << 20, Count: 4, Sparse: 4, Resident: 4 << 20}},
		},
		Small: 40, Denied: 3, DeniedBytes: 70 << 20,
	})
	return f
}

// doctorFile has a finding with two steps, and one without a command.
func doctorFile(name string) *result.Doctor {
	return &result.Doctor{
		Header: result.Header{Schema: result.DoctorSchema, Kind: "doctor", Folio: "v0.0.0", Created: created},
		Host:   testHost(), WatchedSeconds: 1,
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

// suggestFile has a call site that would gain, and one that would not.
func suggestFile(name string) *result.Suggest {
	site := result.CallSite{Func: name + ".parse", File: "/src/parse.go", Line: 7,
		Allocations: result.Allocations{AllocBytes: 64 << 20, AllocObjects: 1 << 20, InuseBytes: 4096}, Share: 0.8}
	other := result.CallSite{Func: name + ".name", File: "/src/name.go", Line: 9, Inside: new("fmt.Sprint"),
		Allocations: result.Allocations{AllocBytes: 8 << 20, AllocObjects: 1 << 16}, Share: 0.1}
	return &result.Suggest{
		Header: result.Header{Schema: result.SuggestSchema, Kind: "suggest", Folio: "v0.0.0", Created: created},
		Host:   testHost(), Command: []string{"go", "test", "-run", "^$", name},
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

// The page of advice says what to write instead, and what of it is known.
func TestAdvisePage(t *testing.T) {
	page := string(pageOf(t, suggestFile("prog")))
	for _, want := range []string{
		"10.0% to 30.0%</p>", "of the CPU time would be saved if prog.parse took this from an arena, by estimate.",
		"In place of: n := &amp;prog{}", "<code>h := arena.Of[prog](a)</code>",
		"32.00MiB/s, 524,288 objects/s, 64.00B each; 80.0% of all bytes ± 20%; ",
		"4.000s of CPU time: the GC 25.0%, allocation 12.5%.", "go test -run &#39;^$&#39; prog",
		"allocated inside fmt.Sprint", "parse.go:7", "defer a.Free()",
	} {
		if !strings.Contains(page, want) && !strings.Contains(page, strings.ReplaceAll(want, "+", "&#43;")) {
			t.Errorf("the page does not say %q", want)
		}
	}
	f := suggestFile("prog")
	f.Suggestions, f.Others, f.Cost, f.Nothing = nil, nil, result.SuggestCost{}, new("it is so")
	page = string(raws.ReplaceAll(scripts.ReplaceAll(pageOf(t, f), nil), nil))
	if !strings.Contains(page, "Nothing to gain by an arena: it is so.") ||
		!strings.Contains(page, "What the GC costs is not known") || strings.Contains(page, "NaN") {
		t.Error("a page without advice")
	}
}

// The page of a look has what the terminal shows of it.
func TestInspectPage(t *testing.T) {
	text := string(pageOf(t, inspectFile(inspect.GoHeap, "prog")))
	for _, want := range []string{
		"160.0MiB</p>", "of the Go heap could be on huge pages and is not; 10.5% is covered now.", "<code>folio collapse 1234</code>",
		"It would take 3.000MiB more memory.", "a hazard of prog", "at most 1.000MiB: base pages of huge pages that hold nothing but zeros",
		"2,000 minor, 2 major a second (over 500.0ms)",
		"THP madvise, defrag madvise, max_ptes_none 511, process allows, advised against 4.000MiB",
		"user 1000", "4.000KiB in swap", "files, shared", "80 dense, 8 sparse, 2 opted out",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if text := string(pageOf(t, inspectFile(inspect.Anonymous, "java"))); !strings.Contains(text,
		"<code>folio collapse --all-anonymous 1234</code>") || !strings.Contains(text, "Windows of anonymous memory") {
		t.Error("of a program that is not Go: the heap is meant")
	}
	text = string(pageOf(t, listFile("prog")))
	for _, want := range []string{"160.0MiB</p>", "3 of other users or protected, with 70.00MiB of anonymous memory: CAP_SYS_PTRACE", "40 with less than a window", "xxx...</bdi>", "<bdi>1.26.8</bdi>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the list does not say %q", want)
		}
	}
}

// Every step of a fix is there, its command to be copied by itself.
func TestDoctorPage(t *testing.T) {
	text := string(pageOf(t, doctorFile("prog")))
	for _, want := range []string{
		"Problem: go-collector-off", `<pre class="line" tabindex="0"><code>GOMEMLIMIT=2GiB</code></pre>`,
		`<pre class="line" tabindex="0"><code>GOGC=100</code></pre>`,
		"Or turn it on:", "Have its allocator use MADV_DONTNEED.", "2 of 3 checks ran", "no file of prog",
		"https://go.dev/doc/gc-guide", "go1.26.8",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	clean := doctorFile("prog")
	clean.Findings = nil
	if text := string(pageOf(t, clean)); !strings.Contains(text, "Nothing was found.") {
		t.Error("a machine without findings has some")
	}
}

func newInspect() *result.Inspect {
	f := result.NewInspect("v0.0.0")
	f.Created = created
	return f
}
