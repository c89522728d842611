package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/collapser"
	"github.com/foliomem/folio/cmd/internal/process/history"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/remedy"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

const mibs = 1 << 20

func testWindows() inspect.Windows {
	return inspect.Windows{
		Size: 2 * mibs, Count: 100, Huge: 10, Dense: 80, Sparse: 8, OptedOut: 2, Density: [inspect.Bins]int{5, 1, 1, 0, 0, 0, 0, 1, 2, 80},
		Resident: 190 * mibs, HugeSize: 20 * mibs, Cut: mibs, Gain: 160 * mibs, Fill: 3 * mibs,
	}
}

func testProcess() *inspect.Process {
	w := testWindows()
	return &inspect.Process{
		PID: 1234, Command: []string{"/usr/bin/prog", "-x", "a\x1b[2Jb"}, Name: "prog", UID: new(1000),
		IsGo: new(true), GoVersion: "go1.26.8", Module: "example.com/prog", Resident: new(uint64(200 * mibs)), Swapped: new(uint64(4096)),
		Memory: []inspect.Memory{
			{Kind: inspect.GoHeap, Mappings: 1, Size: 256 * mibs, Resident: 190 * mibs, Huge: 20 * mibs, Swapped: new(uint64(4096))},
			{Kind: inspect.Stack, Mappings: 1, Size: 132 << 10, Resident: 16 << 10, Swapped: new(uint64)},
			{Kind: inspect.File, Mappings: 9, Size: 20 * mibs, Swapped: new(uint64)},
		},
		Windows: &w, Of: inspect.GoHeap, Bloat: &inspect.Bloat{Most: mibs, Read: 10, Pages: 10},
		Faults: &inspect.Faults{Over: 500 * time.Millisecond, Minor: 1000, Major: 1},
		Policy: inspect.Policy{
			System: procmem.THP{Present: true, Enabled: procmem.Choice{Selected: "madvise"},
				Defrag: procmem.Choice{Selected: "madvise"}, MaxPtesNone: new(511)},
			Allowed: new(true), Advised: new(uint64(0)), Against: new(uint64(4 * mibs)),
		},
		Collapse: "folio collapse 1234",
		Hazards:  []string{"4.000MiB of it is advised against huge pages"}, Waterfall: testWaterfall(), Remedies: testRemedies(),
	}
}

// deniedProcess is what is seen of another user's.
func deniedProcess() *inspect.Process {
	return &inspect.Process{
		PID: 7, Name: "daemon", Resident: new(uint64(9 * mibs)), Of: inspect.Anonymous,
		Notes: []string{"kinds of memory, huge pages and windows are not known: needs CAP_SYS_PTRACE"},
	}
}

func testList() *inspect.List {
	w := testWindows()
	return &inspect.List{
		Rows: []inspect.Row{
			{PID: 1234, Command: []string{"/usr/bin/prog"}, UID: new(1000), GoVersion: "go1.26.8", Resident: 200 * mibs, Windows: w},
			{PID: 88, Name: "java", Resident: 20 * mibs, Windows: inspect.Windows{Size: 2 * mibs, Count: 4, Sparse: 4, Resident: 4 * mibs}},
		},
		Small: 40, Denied: 3, DeniedBytes: 70 * mibs, Hidden: "/proc is mounted with hidepid=invisible, which hides processes of other users: needs CAP_SYS_PTRACE",
	}
}

func TestInspectText(t *testing.T) {
	old := deniedProcess()
	old.Windows = &inspect.Windows{Size: 2 * mibs}
	process := func(p *inspect.Process) *result.Inspect {
		f := inspectFile(time.Time{})
		f.SetProcess(p)
		return f
	}
	list := func(l *inspect.List) *result.Inspect {
		f := inspectFile(time.Time{})
		f.SetList(l)
		return f
	}
	for name, x := range map[string]struct {
		file *result.Inspect
		rows int
	}{
		"inspect-process.txt": {process(testProcess()), 0},
		"inspect-denied.txt":  {process(deniedProcess()), 0},
		"inspect-empty.txt":   {process(old), 0},
		"inspect-list.txt":    {list(testList()), 0},
		"inspect-rows.txt":    {list(testList()), 1},
		"inspect-grows.txt":   {overTime(100, 0), 0},
		"inspect-cycle.txt":   {overTime(100, 1<<30), 0},
		"inspect-begins.txt":  {overTime(3, 0), 0},
	} {
		var b, again bytes.Buffer
		if err := show(&b, x.file, Options{Full: true, Rows: x.rows}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := show(&again, savedAgain(t, x.file), Options{Full: true, Rows: x.rows}); err != nil || again.String() != b.String() {
			t.Errorf("%s: the saved result has another text, %v:\n%s", name, err, again.String())
		}
		if strings.ContainsRune(b.String(), '\x1b') {
			t.Errorf("%s: a command line can move the cursor", name)
		}
		golden(t, name, b.Bytes())
	}
	var b bytes.Buffer
	if err := show(&b, list(&inspect.List{}), Options{Full: true, Rows: 20}); err != nil || !strings.Contains(b.String(), "0B in dense windows of these processes could be on huge pages") {
		t.Errorf("%q, %v", b.String(), err)
	}
	if got := report.Command([]string{strings.Repeat("é", 200)}, ""); len([]rune(got)) != 100 {
		t.Errorf("%d runes", len([]rune(got)))
	}
}

// overTime is a process after so many readings, a second each, whose heap grows by 1 MiB
// at each. every is how often its GC runs; 0: in each second.
func overTime(readings int, every int) *result.Inspect {
	h := &history.History{}
	f := inspectFile(time.Time{})
	for i := range readings {
		p := testProcess()
		p.Limit = &inspect.Limit{Dir: "/sys/fs/cgroup/x", Bytes: 400 * mibs, Used: uint64(210+i) * mibs, Cache: 2 * mibs}
		p.Waterfall.At, p.Waterfall.GC = time.Unix(int64(i), 0), &waterfall.GC{Cycles: 7, Percent: -1}
		if every == 0 {
			p.Waterfall.GC.Cycles += uint32(i)
		}
		p.Waterfall.Parts[0].Bytes += int64(i) * mibs
		p.Waterfall.RSS += uint64(i) * mibs
		h.Add(p, uint64(100*i), uint64(i/50))
		f.SetProcess(p)
	}
	f.SetHistory(h, h.All())
	return f
}

func TestInspectLine(t *testing.T) {
	f := overTime(30, 0)
	denied := inspectFile(time.Time{})
	denied.SetProcess(deniedProcess())
	denied.SetHistory(&history.History{}, nil)
	denied.Process.OverTime.Seconds = []float64{1.5}
	golden(t, "inspect-lines.txt", []byte(report.InspectHead(f.Process)+report.InspectLine(f.Process)+report.InspectHead(denied.Process)+report.InspectLine(denied.Process)))
}

// Of a reading in which the runtime could not be read the parts of the heap are null, and of
// others the heap as a whole is.
func TestOverTimeUnread(t *testing.T) {
	h, f := &history.History{}, inspectFile(time.Time{})
	for i := range 9 {
		p := testProcess()
		p.Waterfall = &waterfall.Waterfall{At: time.Unix(int64(i), 0), RSS: 30 * mibs, Parts: []waterfall.Part{{Kind: waterfall.Heap, Bytes: 20 * mibs}, {Kind: waterfall.Text, Bytes: 10 * mibs}}}
		if i > 2 {
			p.Waterfall.GC = &waterfall.GC{}
			p.Waterfall.Parts = []waterfall.Part{{Kind: waterfall.Live, Bytes: 19 * mibs}, {Kind: waterfall.Free, Bytes: int64(i-3) * mibs}, {Kind: waterfall.Text, Bytes: int64(14-i) * mibs}}
		}
		h.Add(p, 0, 0)
		f.SetProcess(p)
		f.SetHistory(h, h.All())
		line := strings.Fields(report.InspectLine(f.Process))
		if unread := line[4] == "-" && line[5] == "-"; unread != (i <= 2) {
			t.Errorf("reading %d: %q", i, line)
		}
	}
	o := f.Process.OverTime
	for i := range 9 {
		live, free, heap, text := o.Part("go_live").Bytes[i], o.Part("go_free").Bytes[i], o.Part("go_heap").Bytes[i], o.Part("text").Bytes[i]
		if (live == nil) != (i <= 2) || (free == nil) != (i <= 2) || (heap == nil) != (i > 2) || text == nil || i == 3 && *free != 0 {
			t.Errorf("reading %d: %v %v %v %v", i, live, free, heap, text)
		}
	}
	if len(o.Part("go_live").Known()) != 6 {
		t.Errorf("%v", o.Part("go_live").Known())
	}
	var b strings.Builder
	_ = show(&b, f, Options{Full: true})
	for _, want := range []string{"live heap after the last GC          -  19.00MiB  19.00MiB  19.00MiB", "20.00MiB         -"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if report.Extremes(nil) != [4]*int64{} {
		t.Error("extremes of nothing")
	}
}

// What was not read of a large process is null in the file, and - in the table.
func TestNotReadForLong(t *testing.T) {
	p := testProcess()
	p.Policy.Advised, p.Policy.Against = nil, nil
	p.Memory[0].Swapped = nil
	f := inspectFile(time.Time{})
	f.SetProcess(p)
	if f.Process.Windows.OptedOut != nil || f.Process.Memory[0].Swapped != nil {
		t.Errorf("%+v, %+v", f.Process.Windows, f.Process.Memory[0])
	}
	var b strings.Builder
	_ = show(&b, f, Options{Full: true})
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "  Go heap ") && !strings.HasSuffix(strings.TrimSpace(line), " -") {
			t.Errorf("%q", line)
		}
	}
	p.Policy.Allowed = new(false) // then all are, whatever it advised
	if f.SetProcess(p); f.Process.Windows.OptedOut == nil {
		t.Error("opted out is not known")
	}
}

func TestInspectJSON(t *testing.T) {
	now := time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	for name, set := range map[string]func(*result.Inspect){
		"inspect-process.json": func(f *result.Inspect) { f.SetProcess(testProcess()) },
		"inspect-denied.json":  func(f *result.Inspect) { f.SetProcess(deniedProcess()) },
		"inspect-grows.json":   func(f *result.Inspect) { f.Kind, f.Process = result.KindProcess, overTime(7, 0).Process },
		"inspect-list.json":    func(f *result.Inspect) { f.SetList(testList()) },
	} {
		f := inspectFile(now)
		set(f)
		data, err := f.JSON()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, data)
		line, err := f.Line()
		var a, b any
		if err != nil || bytes.Count(line, []byte("\n")) != 1 || json.Unmarshal(line, &a) != nil || json.Unmarshal(data, &b) != nil {
			t.Errorf("%q, %v", line, err)
		}
	}
}

func inspectFile(now time.Time) *result.Inspect {
	f := result.NewInspect("v1")
	f.Created = now
	return f
}

func collapseFile(c *result.Collapsing) *result.Collapse {
	f := result.NewCollapse("v1", c)
	f.Created = time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	return f
}

func testCollapse() *result.Collapsing {
	w := testWindows()
	after := inspect.Windows{Size: 2 * mibs, Count: 100, Huge: 89, Sparse: 8, Resident: 193 * mibs, HugeSize: 178 * mibs}
	notes := &stat.Notes{}
	notes.Add("refused: no huge page is free")
	return &result.Collapsing{
		PID: 1234, Command: []string{"/usr/bin/prog"}, GoVersion: "go1.26.8",
		Options: collapser.Options{MinDensity: 0.8, Budget: 4 << 30, Rate: 256 * mibs},
		Outcome: collapser.Outcome{
			Collapsed: 79, Already: 10, Sparse: 8, OptedOut: 2, OverBudget: 4, Released: 1, NotTried: 5,
			Refused: map[string]int{"ENOMEM": 1, "EAGAIN": 2},
			Reason:  errors.New("no huge page is free"), Bytes: 158 * mibs, Filled: 3 * mibs, Spent: 50 * time.Millisecond,
		},
		Before: collapser.State{Resident: 200 * mibs, Windows: w, Faults: &inspect.Faults{Over: time.Second, Minor: 7}},
		After:  &collapser.State{Resident: 203 * mibs, Windows: after}, Elapsed: 600 * time.Millisecond, Notes: notes,
	}
}

func TestCollapseText(t *testing.T) {
	dry := testCollapse()
	dry.Outcome, dry.After = collapser.Outcome{}, nil
	dry.Plan = &collapser.Plan{Todo: make([]page.Window, 80), Already: 10, Sparse: 8, OptedOut: 2, Bytes: 160 * mibs, Fill: 3 * mibs}
	ended := testCollapse()
	ended.Ended, ended.After = true, nil
	nothing := &result.Collapsing{PID: 5, Name: "x", Options: collapser.Options{All: true}, Notes: &stat.Notes{}}
	for name, c := range map[string]*result.Collapsing{"done": testCollapse(), "dry": dry, "ended": ended, "nothing": nothing} {
		var b bytes.Buffer
		file := collapseFile(c)
		if err := show(&b, file, Options{Full: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		golden(t, "collapse-"+name+".txt", b.Bytes())
		var again bytes.Buffer
		if err := show(&again, savedAgain(t, file), Options{Full: true}); err != nil || again.String() != b.String() {
			t.Errorf("%s: the saved result has another text, %v:\n%s", name, err, again.String())
		}
		data, err := file.JSON()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		golden(t, "collapse-"+name+".json", data)
	}
	interrupted := testCollapse()
	interrupted.Interrupted = true
	var b bytes.Buffer
	if err := show(&b, collapseFile(interrupted), Options{}); err != nil || !strings.Contains(b.String(), "5  not reached: interrupted") {
		t.Errorf("%s, %v", b.String(), err)
	}
	if got := document.CollapseLine(testCollapse().Outcome); got != "158.0MiB collapsed in 79 windows, 2 refused: EAGAIN, 1 refused: ENOMEM, 3.000MiB of memory more" {
		t.Error(got)
	}
}

// testRemedies has advice that can return all of a part, some of it, and nothing more.
func testRemedies() remedy.Remedies {
	return remedy.Find(&remedy.Facts{Waterfall: testWaterfall(), GoVersion: "go1.26.8", PID: 1234})
}

// testWaterfall has a part of each kind that is shown in another way.
func testWaterfall() *waterfall.Waterfall {
	say := func(n uint64) *uint64 { return &n }
	return &waterfall.Waterfall{
		RSS: 200 * mibs, Drift: new(int64(-4096)), PageTables: say(600 << 10), Swap: say(4096), HugeTLB: say(0),
		Parts: []waterfall.Part{
			{Kind: waterfall.Live, Bytes: 120 * mibs, Runtime: say(121 * mibs), Uncertainty: say(0), How: waterfall.Computed},
			{Kind: waterfall.Since, Bytes: 30 * mibs, Runtime: say(30 * mibs), Uncertainty: say(2 * mibs), How: waterfall.Computed},
			{Kind: waterfall.Unused, Bytes: 25 * mibs, Runtime: say(26 * mibs), Uncertainty: say(0), How: waterfall.Computed},
			{Kind: waterfall.Repopulated, Runtime: say(400 * mibs), Uncertainty: say(0), How: waterfall.Read},
			{Kind: waterfall.Named, Bytes: 6 * mibs, How: waterfall.Read, Of: []waterfall.Share{{Name: "[anon:a\x1b[2J]", Bytes: 6 * mibs}}},
			{Kind: waterfall.Text, Bytes: 20 * mibs, How: waterfall.Read},
			{Kind: waterfall.Changed, Bytes: -mibs, How: waterfall.Remainder},
		},
		Classes: []waterfall.Class{
			{Size: 512, Spans: 3000, Bytes: 24 * mibs, Objects: 4 * mibs, Resident: 24 * mibs, Unused: 20 * mibs},
			{Size: 48, Spans: 100, Bytes: 800 << 10, Objects: 400 << 10, Resident: 800 << 10, Unused: 400 << 10},
			{Spans: 2, Bytes: 16 * mibs, Objects: 16 * mibs, Resident: 16 * mibs},
		},
		Readings:   []waterfall.Reading{{What: "smaps", From: time.Millisecond, To: 3 * time.Millisecond}},
		Allocators: []string{"libjemalloc"}, Arenas: waterfall.Arenas{Count: 3, Bytes: 4096},
		GC:    &waterfall.GC{Percent: 100, Cycles: 7, Last: time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)},
		Notes: []string{"1 GC cycle ended while it was read"},
	}
}

// What changed by more than a fiftieth of RSS is not of one moment.
func TestWaterfallChanging(t *testing.T) {
	for _, c := range []struct {
		change func(w *waterfall.Waterfall)
		want   bool
	}{
		{func(*waterfall.Waterfall) {}, false},
		{func(w *waterfall.Waterfall) { w.Drift = new(int64(-5 * mibs)) }, true},
		{func(w *waterfall.Waterfall) { w.Parts[6].Bytes = -5 * mibs }, true},
		{func(w *waterfall.Waterfall) { *w.Parts[1].Uncertainty = 5 * mibs }, true},
	} {
		p := testProcess()
		p.Waterfall = testWaterfall()
		c.change(p.Waterfall)
		f := inspectFile(time.Time{})
		f.SetProcess(p)
		if got := f.Process.Waterfall.Changing(); got != c.want {
			t.Errorf("%+v: %t", p.Waterfall, got)
		}
	}
}
