package text

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/history"
	"github.com/foliomem/folio/cmd/internal/process/leak"
	"github.com/foliomem/folio/cmd/internal/program/callsite"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/cmd/internal/result"
)

// What could not be watched is null in the file, and not 0 of it in the text.
func TestLeaksUnread(t *testing.T) {
	for _, c := range []struct {
		report leak.Report
		text   string
		null   string // of the keys
	}{
		{leak.Report{Sites: new(7), Starts: new(0), Parts: new(6), Cycles: new(9)}, "7 lines that allocate (9 heap profiles), 0 go statements, 6 parts of its memory", ""},
		{leak.Report{Sites: new(1), Starts: new(1), Parts: new(1), Cycles: new(1)}, ": 1 line that allocates (1 heap profile), 1 go statement, 1 part of its memory", ""},
		{leak.Report{Starts: new(2), Parts: new(6)}, ": 2 go statements, 6 parts of its memory", "allocation_sites heap_profiles"},
		{leak.Report{Parts: new(6)}, ": 6 parts of its memory", "allocation_sites goroutine_sites heap_profiles"},
		{leak.Report{}, ": nothing of it could be read", "allocation_sites goroutine_sites heap_profiles memory_parts"},
	} {
		c.report.Elapsed = time.Minute
		f := result.NewSites("v1", "leaks", 7, nil, "")
		f.SetLeaks(&c.report)
		var b strings.Builder
		if err := show(&b, f, Options{Rows: 20}); err != nil || !strings.Contains(b.String(), c.text+"\n") {
			t.Errorf("no %q in %q, %v", c.text, b.String(), err)
		}
		data, err := f.JSON()
		var keys struct {
			Leaks map[string]any `json:"leaks"`
		}
		if err != nil || json.Unmarshal(data, &keys) != nil {
			t.Fatalf("%s, %v", data, err)
		}
		for _, key := range []string{"allocation_sites", "goroutine_sites", "heap_profiles", "memory_parts"} {
			if value, has := keys.Leaks[key]; !has || (value == nil) != strings.Contains(c.null, key) {
				t.Errorf("%s: %v, %v; null should be %s", key, value, has, c.null)
			}
		}
	}
}

// A growth of the Go heap that could not be judged, and one of RSS, are not denied.
func TestLeaksNotJudged(t *testing.T) {
	const mib = 1 << 20
	why := "3 of 5 GC cycles seen; one is forced every 2m"
	between := func(first, last uint64) *history.History {
		return &history.History{Points: []history.Point{{RSS: first}, {At: 25 * time.Second, RSS: last}}, Stride: 1}
	}
	grows := &leak.RSS{
		History: between(100*mib, 400*mib), Growth: &history.Growth{Over: 25 * time.Second, RSS: stat.Trend{N: 60, Slope: 594 * mib, Lo: 580 * mib, Hi: 600 * mib}},
		Part: "Go heap", PartGrowth: &stat.Trend{N: 60, Slope: 590 * mib, Lo: 580 * mib, Hi: 600 * mib},
	}
	growing := []leak.Finding{{Kind: leak.Memory, Title: "malloc"}}
	said := "RSS: 100.0MiB at first, 400.0MiB at last; most of the difference is in: Go heap\n"
	const rest = "\n--full shows the rest.\n" // memory over time
	for _, c := range []struct {
		report leak.Report
		text   string // the end of it
		json   string
	}{
		{
			leak.Report{HeapUnjudged: why, Longer: 8 * time.Minute, RSS: grows},
			"\n\nUnknown: whether the Go heap keeps growing (" + why + "). Nothing else that was watched does.\n  " + said +
				"  folio leaks --duration 8m 7 # as long as it takes at this rate\n" + rest,
			`"heap_judged":false,"heap_not_judged":"` + why + `","long_enough_seconds":480,"over_time":{"seconds":[0,25],"rss_bytes":[104857600,419430400],"parts":[],"gc_cycles":null,"minor_faults":null,"major_faults":null,` +
				`"cgroup_used_bytes":null,"stride":1,"growth":{"bytes_per_minute":622854144,"lo":608174080,"hi":629145600},"growth_seconds":25,"cgroup_used_growth":null},"rss_part":"Go heap","rss_part_growth":{"bytes_per_minute":618659840,`,
		},
		{
			leak.Report{HeapUnjudged: why, RSS: grows, Found: growing},
			"  Go heap not judged: " + why + ".\n\nWhat grows\n  growth/min  95% interval  from  to  confidence  what grows\n         +0B      0B to 0B    0B  0B        0.0%  malloc\n" + rest,
			`"heap_judged":false,"heap_not_judged":"` + why + `"`,
		},
		{
			leak.Report{HeapJudged: true, RSS: &leak.RSS{History: between(100*mib, 99*mib)}},
			"\nNot judged: too few readings in 0s.\n  RSS: 100.0MiB at first, 99.00MiB at last; too few readings to say how it grows\n" + rest,
			`"long_enough_seconds":null,"over_time":{"seconds":[0,25],"rss_bytes":[104857600,103809024],"parts":[],"gc_cycles":null,"minor_faults":null,"major_faults":null,"cgroup_used_bytes":null,"stride":1,"growth":null,"growth_seconds":null,"cgroup_used_growth":null},"rss_part":null,"rss_part_growth":null`,
		},
		{
			leak.Report{HeapJudged: true, RSS: &leak.RSS{History: between(mib, mib), Growth: &history.Growth{RSS: stat.Trend{Lo: -1, Hi: 1}}}},
			"\nNo part of memory keeps growing.\n  RSS: 1.000MiB at first, 1.000MiB at last; no significant trend\n" + rest,
			`"growth":{"bytes_per_minute":0,"lo":-1,"hi":1}`,
		},
		{leak.Report{}, ": nothing of it could be read\n\nNot judged.\n", `"heap_judged":false,"heap_not_judged":null`},
		{leak.Report{HeapUnjudged: "4 of 5 GC cycles seen", Sites: new(7), Cycles: new(4)}, "\nUnknown: whether the Go heap keeps growing (4 of 5 GC cycles seen). Nothing else that was judged does.\n  Too early to judge single lines: 4 heap profiles seen, 12 needed.\n", `"heap_judged":false`},
		{leak.Report{HeapJudged: true, Sites: new(7), Cycles: new(9), Starts: new(2)}, "\nNo go statement or part of memory keeps growing.\n  Too early to judge single lines: 9 heap profiles seen, 12 needed.\n", `"over_time":null`},
	} {
		if c.report.Readings = 60; c.report.HeapJudged || c.report.HeapUnjudged != "" {
			c.report.Parts = new(6)
		}
		f := result.NewSites("v1", "leaks", 7, nil, "")
		f.SetLeaks(&c.report)
		var b, compact bytes.Buffer
		if err := show(&b, f, Options{Rows: 20}); err != nil || !strings.HasSuffix(b.String(), c.text) {
			t.Errorf("%q does not end with %q, %v", b.String(), c.text, err)
		}
		if data, err := f.JSON(); err != nil || json.Compact(&compact, data) != nil || !strings.Contains(compact.String(), c.json) {
			t.Errorf("no %s in %s, %v", c.json, compact.String(), err)
		}
	}
}

// The answer names what grows most, with its line, and how many others there are.
func TestLeaksAnswer(t *testing.T) {
	line := leak.Finding{Kind: leak.Heap, Func: "main.grow", File: "/src/main.go", Line: 15, Callers: []string{"main.main"}}
	line.Slope = 1 << 20
	start := leak.Finding{Kind: leak.Goroutines, Func: "main.serve", File: "/src/main.go", Line: 7}
	start.Slope = 0.5
	const first = "\n+60.00MiB a minute, and still growing: main.grow main.go:15, from main.main."
	for _, c := range []struct {
		found []leak.Finding
		want  string
	}{
		{[]leak.Finding{line}, first + "\n"},
		{[]leak.Finding{line, start}, first + " 1 other thing grows.\n"},
		{[]leak.Finding{line, line, start}, first + " 2 other things grow.\n"},
		{[]leak.Finding{start}, "\n+30 a minute, and still growing: goroutines created by main.serve main.go:7.\n"},
	} {
		f := result.NewSites("v1", "leaks", 7, nil, "")
		f.SetLeaks(&leak.Report{Readings: 60, Found: c.found})
		var b strings.Builder
		if err := show(&b, f, Options{}); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("no %q in %q, %v", c.want, b.String(), err)
		}
	}
}

// The rows of a heap profile name what is no line, too.
func TestSitesNotLines(t *testing.T) {
	use := func(n int64) callsite.Use { return callsite.Use{InUseBytes: n, InUseObjects: 1} }
	f := result.NewSites("v1", "sites", 7, nil, "")
	f.SetHeap(&callsite.Diff{After: use(100), Changes: []callsite.Change{
		{Func: "main.f", File: "/src/main.go", Line: 3, After: use(70)}, {Func: callsite.Runtime, After: use(20)}, {Func: callsite.Unknown, After: use(10)},
	}}, 1)
	var b strings.Builder
	if err := show(&b, f, Options{Rows: 20}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{" 70.0%     0B  main.f main.go:3\n", " 20.0%     0B  the runtime itself\n", " 10.0%     0B  unknown: the stack has no names\n"} {
		if text := strings.ReplaceAll(b.String(), "         0B", "     0B"); !strings.Contains(text, row) {
			t.Errorf("no %q in %s", row, text)
		}
	}
}

// Finalizers and cleanups that wait are said where there are any.
func TestLeaksWaiting(t *testing.T) {
	few, many := uint64(2), uint64(1200)
	stuck := goruntime.PendingFunc{Frame: symbol.Frame{Func: "main.stuck", File: "/src/main.go", Line: 9}, Count: 40}
	for _, c := range []struct {
		waiting *leak.Waiting
		text    string
	}{
		{nil, ""},
		{&leak.Waiting{Last: goruntime.Pending{Cleanups: new(uint64)}}, ""},
		{&leak.Waiting{Last: goruntime.Pending{Finalizers: 41, Functions: []goruntime.PendingFunc{stuck}}},
			"Waiting to run, or running: 41 finalizers (0 at the first reading); most finalizers (40): main.stuck main.go:9."},
		{&leak.Waiting{First: goruntime.Pending{Cleanups: &few}, Last: goruntime.Pending{Finalizers: 1, Cleanups: &many}},
			"Waiting to run, or running: 1 finalizer (0 at the first reading), 1,200 cleanups (2 at the first reading)."},
	} {
		f := result.NewSites("v1", "leaks", 7, nil, "")
		f.SetLeaks(&leak.Report{Readings: 60, Parts: new(6), HeapJudged: true, Waiting: c.waiting})
		var b strings.Builder
		if err := show(&b, f, Options{Rows: 20}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), " ")
		if c.text == "" && strings.Contains(text, "Waiting") || !strings.Contains(text, c.text) {
			t.Errorf("no %q in %q", c.text, text)
		}
	}
}
