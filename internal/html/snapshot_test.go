package html

import (
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/diagnose"
	"github.com/foliomem/folio/internal/inspect"
	"github.com/foliomem/folio/internal/procmem"
	"github.com/foliomem/folio/internal/report"
)

func windows() inspect.Windows {
	return inspect.Windows{
		Size: 2 << 20, Count: 100, Huge: 10, Dense: 80, Sparse: 8, OptedOut: 2, Density: [inspect.Bins]int{5, 1, 1, 0, 0, 0, 0, 1, 2, 80},
		Resident: 190 << 20, HugeSize: 20 << 20, Gain: 160 << 20, Fill: 3 << 20,
	}
}

// inspectFile is one look at a process; of is what its windows are of.
func inspectFile(of inspect.Kind, name string) *report.InspectFile {
	w := windows()
	f := report.NewInspectFile("v0.0.0", created)
	f.SetProcess(&inspect.Process{
		PID: 1234, Command: []string{name, "-x"}, Name: name, UID: ptr(1000), IsGo: ptr(of == inspect.GoHeap), GoVersion: "go1.26.8",
		Resident: ptr[uint64](200 << 20), Swapped: ptr[uint64](4096),
		Memory: []inspect.Memory{
			{Kind: inspect.GoHeap, Mappings: 1, Size: 256 << 20, Resident: 190 << 20, Huge: 20 << 20, Swapped: 4096},
			{Kind: inspect.File, Mappings: 9, Size: 20 << 20, Resident: 2 << 20},
		},
		Windows: &w, Of: of, Bloat: &inspect.Bloat{Most: 1 << 20, Read: 10, Pages: 10},
		Faults: &inspect.Faults{Over: 500 * time.Millisecond, Minor: 1000, Major: 1},
		Policy: inspect.Policy{
			System:  procmem.THP{Present: true, Enabled: procmem.Choice{Selected: "madvise"}, Defrag: procmem.Choice{Selected: "madvise"}, MaxPtesNone: ptr(511)},
			Allowed: ptr(true), Advised: ptr[uint64](0), Against: ptr[uint64](4 << 20),
		},
		Hazards: []string{"a hazard of " + name}, Notes: []string{"a note"},
	})
	return f
}

// listFile is one look at all processes.
func listFile(name string) *report.InspectFile {
	f := report.NewInspectFile("v0.0.0", created)
	f.SetList(&inspect.List{
		Rows: []inspect.Row{
			{PID: 1234, Command: []string{name, strings.Repeat("x", 200)}, Name: name, UID: ptr(1000), GoVersion: "go1.26.8", Resident: 200 << 20, Windows: windows()},
			{PID: 88, Name: "java", Resident: 20 << 20, Windows: inspect.Windows{Size: 2 << 20, Count: 4, Sparse: 4, Resident: 4 << 20}},
		},
		Small: 40, Denied: 3, DeniedBytes: 70 << 20,
	})
	return f
}

// doctorFile has a finding with two steps, and one without a command.
func doctorFile(name string) *report.DoctorFile {
	return &report.DoctorFile{
		Schema: report.DoctorSchema, Kind: "doctor", Folio: "v0.0.0", Created: created, Host: testHost(), WatchedSeconds: 1,
		Process: &report.DoctorProcess{PID: 4242, Name: name, Command: []string{name, "-x"}, GoVersion: ptr("go1.26.8")},
		Findings: []diagnose.Hazard{
			{Rule: "go-collector-off", Severity: diagnose.Problem, What: "The collector of " + name + " is off.", Means: "It grows.", Reference: "https://go.dev/doc/gc-guide",
				Evidence: []diagnose.Reading{{From: "the runtime of " + name, Says: "GOGC is off"}}, Fix: []diagnose.Step{{Do: "Set a limit:", Code: "GOMEMLIMIT=2GiB"}, {Do: "Or turn it on:", Code: "GOGC=100"}}},
			{Rule: "freed-but-resident", Severity: diagnose.Note, What: "memory was freed lazily", Means: "It counts.", Reference: "https://example.com", Evidence: []diagnose.Reading{}, Fix: []diagnose.Step{{Do: "Have its allocator use MADV_DONTNEED."}}},
		},
		Checks: []report.DoctorCheck{
			{ID: "go-collector-off", Title: "the collector is off", Scope: diagnose.OfGo, State: diagnose.Found},
			{ID: "swapping", Title: "memory is swapped", Scope: diagnose.Host, State: diagnose.NotChecked, Why: ptr("no file of " + name)},
			{ID: "thp-never", Title: "huge pages are off", Scope: diagnose.Host, State: diagnose.Clean},
		},
		Notes: []string{"a note"},
	}
}

// The page of a look has what the terminal shows of it.
func TestInspectPage(t *testing.T) {
	text := string(pageOf(t, inspectFile(inspect.GoHeap, "prog")))
	for _, want := range []string{
		"160.0MiB</p>", "of the Go heap could be on huge pages and is not; 10.5% is covered now.", "<code>folio collapse 1234</code>",
		"It would take 3.000MiB more memory.", "a hazard of prog", "at most 1.000MiB: base pages of huge pages that hold nothing but zeros",
		"2,000 minor, 2 major a second (over 500.0ms)", "THP madvise, defrag madvise, max_ptes_none 511, process allows, advised against 4.000MiB",
		"user 1000", "4.000KiB in swap", "files, shared", "80 dense, 8 sparse, 2 opted out",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if text := string(pageOf(t, inspectFile(inspect.Anonymous, "java"))); !strings.Contains(text, "<code>folio collapse --all-anonymous 1234</code>") || !strings.Contains(text, "Windows of anonymous memory") {
		t.Error("of a program that is not Go: the heap is meant")
	}
	text = string(pageOf(t, listFile("prog")))
	for _, want := range []string{"160.0MiB</p>", "3 of other users or protected, with 70.00MiB of anonymous memory: needs CAP_SYS_PTRACE", "40 with less than a window", "xxx...</bdi>", "<bdi>1.26.8</bdi>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the list does not say %q", want)
		}
	}
}

// Every step of a fix is there, its command to be copied by itself.
func TestDoctorPage(t *testing.T) {
	text := string(pageOf(t, doctorFile("prog")))
	for _, want := range []string{
		"Problem: go-collector-off", `<pre class="line" tabindex="0"><code>GOMEMLIMIT=2GiB</code></pre>`, `<pre class="line" tabindex="0"><code>GOGC=100</code></pre>`,
		"Or turn it on:", "Have its allocator use MADV_DONTNEED.", "2 of 3 checks ran", "no file of prog", "https://go.dev/doc/gc-guide", "go1.26.8",
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
