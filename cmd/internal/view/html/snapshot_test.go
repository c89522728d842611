package html

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
)

// The page of a process over time has its growth first, and all its figures as lanes.
func TestOverTimePage(t *testing.T) {
	text := string(pageOf(t, resulttest.OverTime("prog", 60)))
	for _, want := range []string{
		"60.00MiB a minute</p>", "RSS grows by 60.00MiB a minute", "most of it in: live heap after the last GC", "60 readings in 59s.",
		"At this rate its cgroup reaches its limit in ", `"limit of its cgroup"`, `"used by its cgroup"`, `"GOMEMLIMIT"`, `"GC cycles a second"`,
		`"major page faults a second"`, "In 59s: 59 GC cycles, 59,000 minor and 59 major page faults.", "RSS by part, over time",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if text := string(pageOf(t, resulttest.OverTime("prog", 3))); strings.Contains(text, "a minute</p>") || !strings.Contains(text, "its growth is not known yet") {
		t.Error("three readings have a growth")
	}
	// What no reading knows is no 0, whatever the file is.
	f := resulttest.OverTime("prog", 60)
	for i := range 60 {
		f.Process.OverTime.Parts[0].Bytes[i] = nil
	}
	f.Process.OverTime.Parts[1].Bytes[0] = nil
	if text := string(pageOf(t, f)); !strings.Contains(text, "RSS by part, over time") || strings.Contains(text, `"live heap after the last GC","kind"`) {
		t.Error("a part that is not known is drawn")
	}
	if text := string(pageOf(t, resulttest.OverTime("prog", 1))); strings.Contains(text, "Over time") {
		t.Error("one reading is drawn over time")
	}
}

// The page of advice says what to write instead, and what of it is known.
func TestAdvisePage(t *testing.T) {
	page := string(pageOf(t, resulttest.Suggest("prog")))
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
	f := resulttest.Suggest("prog")
	f.Suggestions, f.Others, f.Cost, f.Nothing = nil, nil, result.SuggestCost{}, new("it is so")
	page = string(raws.ReplaceAll(scripts.ReplaceAll(pageOf(t, f), nil), nil))
	if !strings.Contains(page, "Nothing to gain by an arena: it is so.") ||
		!strings.Contains(page, "What the GC costs is not known") || strings.Contains(page, "NaN") {
		t.Error("a page without advice")
	}
}

// The page of a look has what the terminal shows of it.
func TestInspectPage(t *testing.T) {
	text := string(pageOf(t, resulttest.Inspect(inspect.GoHeap, "prog")))
	for _, want := range []string{
		"160.0MiB</p>", "of the Go heap could be on huge pages, and is not; 10.5% is now.", "<code>folio collapse 1234</code>",
		"It would take 3.000MiB more memory.", "a hazard of prog", "at most 1.000MiB: base pages of huge pages that hold nothing but zeros",
		"2,000 minor, 2 major a second (over 500.0ms)",
		"THP madvise, defrag madvise, max_ptes_none 511, process allows, advised against 4.000MiB",
		"user 1000", "4.000KiB in swap", "files, shared", "80 dense, 8 sparse, 2 opted out",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if text := string(pageOf(t, resulttest.Inspect(inspect.Anonymous, "java"))); !strings.Contains(text,
		"<code>folio collapse --all-anonymous 1234</code>") || !strings.Contains(text, "Windows of anonymous memory") {
		t.Error("of a program that is not Go: the heap is meant")
	}
	text = string(pageOf(t, resulttest.List("prog")))
	for _, want := range []string{"160.0MiB</p>", "3 processes of other users or protected, with 70.00MiB of anonymous memory: run with CAP_SYS_PTRACE", "40 processes with less anonymous memory than one huge page", "xxx...</bdi>", "<bdi>1.26.8</bdi>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the list does not say %q", want)
		}
	}
}

// Every step of a fix is there, its command to be copied by itself.
func TestDoctorPage(t *testing.T) {
	text := string(pageOf(t, resulttest.Doctor("prog")))
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
	clean := resulttest.Doctor("prog")
	clean.Findings = nil
	if text := string(pageOf(t, clean)); !strings.Contains(text, "Nothing was found.") {
		t.Error("a machine without findings has some")
	}
}
