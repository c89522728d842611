package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/view/compare"
	"github.com/foliomem/folio/cmd/internal/view/document"
)

// Two searches of one program are not an experiment: what differs stands above the
// figures, the figure is of the metric, no color says which is better, and each
// default names its file.
func TestBesideIsNeutral(t *testing.T) {
	before, after := resulttest.Tune(8, "./prog", "-n", "60"), resulttest.Tune(8, "./prog", "-n", "300")
	before.Metric, after.Metric = &result.Target{Name: "cpu"}, &result.Target{Name: "cpu"}
	after.Created = resulttest.Created.Add(5 * time.Minute)
	for i := range after.Arms {
		for _, s := range after.Arms[i].Samples {
			s.Wall, s.CPU = s.Wall*2, s.CPU/3
		}
	}
	text := string(pageOf(t, before, after))
	first, answer := strings.Index(text, `<section class="first"`), strings.Index(text, `<section class="answers"`)
	if first < 0 || first > answer {
		t.Fatalf("what differs is at %d, the first answer at %d", first, answer)
	}
	for _, want := range []string{"file1.json against file0.json: what else differs", "<code><bdi>-n 60</bdi></code>",
		"<code><bdi>-n 300</bdi></code>", "(5 minutes later)"} {
		if !strings.Contains(text[first:answer], want) {
			t.Errorf("above the answers there is no %q", want)
		}
	}
	section, _, _ := strings.Cut(text[answer:], "</article>")
	for _, want := range []string{`<div class="answer main">`, "<p class=\"text\"><bdi>Prog default, CPU time: from ", "(-66.7%)", `"t":"file0.json: default"`,
		`"t":"file1.json: default"`, `"t":"file1.json: recommended"`} {
		if !strings.Contains(section, want) {
			t.Errorf("the comparison has no %q", want)
		}
	}
	for _, never := range []string{"verdict", `class="figure"`, "is better in", "are better", "worse"} {
		if strings.Contains(section, never) {
			t.Errorf("the comparison says %q", never)
		}
	}
}

// Runs side by side have a chart of their figures and one of the runs in order.
func TestRunsBeside(t *testing.T) {
	page := document.New(resulttest.Read(t, "a.json", resulttest.Run(6)), resulttest.Read(t, "b.json", resulttest.Run(6)), resulttest.Read(t, "c.json", resulttest.Run(1)))
	block := page.Sections[0].Blocks[0]
	if len(block.Charts) != 3 || len(block.Tables) != 2 {
		t.Fatalf("the first block, %q, has %d charts and %d tables", block.Title, len(block.Charts), len(block.Tables))
	}
	bars, runs := block.Charts[0], block.Charts[1].Runs
	if len(bars.Series) != 3 || len(bars.Series[0].P) != len(mainFigures())-2 /* p99 and CPU of a load */ || bars.Series[0].P[0].X != 1 || bars.Series[1].Name != "b.json" {
		t.Errorf("figures: %+v", bars)
	}
	if !runs.Apart || len(runs.Arms) != 3 || len(runs.Arms[1].V) != 6 || len(runs.Arms[2].V) != 1 || runs.Arms[1].At[5] != 6 {
		t.Errorf("runs: %+v", runs)
	}
}

// benchmarks is a file in the Go benchmark format.
func benchmarks(names []string, factor float64) []byte {
	var b strings.Builder
	b.WriteString("goos: linux\ngoarch: amd64\ncpu: Test CPU\n")
	for i := range 8 {
		for j, n := range names {
			fmt.Fprintf(&b, "Benchmark%s-8 100 %.1f ns/op %d B/op\n", n, factor*(100*float64(j+1)+float64(i)), 64*(j+1))
		}
	}
	return []byte(b.String())
}

// benchPage is the page of a comparison of two files in the Go benchmark format.
func benchPage(t testing.TB, before, after []byte) []byte {
	t.Helper()
	old, err := compare.Read("old.txt", before)
	if err != nil {
		t.Fatal(err)
	}
	other, err := compare.Read("new.txt", after)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare.Compare(old, other, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Render(document.NewComparison(c))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Benchmarks have a page with a bar and its interval for each, and no figure that reads as
// a win.
func TestBenchmarksPage(t *testing.T) {
	names := []string{"Parse/size=1", "Format"}
	text := string(benchPage(t, benchmarks(names, 1), bytes.ReplaceAll(benchmarks(names, 0.5), []byte("amd64"), []byte("arm64"))))
	first, answer := strings.Index(text, `<section class="first"`), strings.Index(text, `<section class="answers"`)
	if first < 0 || first > answer || !strings.Contains(text[first:answer], "linux/arm64") {
		t.Errorf("what differs is at %d, the answer at %d", first, answer)
	}
	for _, want := range []string{"<h1><bdi>new.txt against old.txt</bdi></h1>", "Not interleaved: a difference may be the machine&#39;s. ", "(-50.0%)",
		"time, less is better", "-50.0%</bdi></td>", "± 4%"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(text, `class="figure"`) || strings.Contains(text, `class="raw"`) {
		t.Error("a difference stands alone, or there is a result file where there is none")
	}
	found := charts.FindAllSubmatch([]byte(text), -1)
	var c document.Chart
	if len(found) != 2 || json.Unmarshal(found[0][2], &c) != nil {
		t.Fatalf("%d charts", len(found))
	}
	if len(c.Series) != 2 || len(c.Series[0].P) != 2 || c.Series[1].Name != "new.txt" || c.X.Format != document.Seconds {
		t.Fatalf("the chart is %+v", c)
	}
	for _, s := range c.Series {
		for _, p := range s.P {
			if p.XLo == nil || p.XHi == nil || *p.XLo > p.X || *p.XHi < p.X || p.X > 1e-6 {
				t.Errorf("%s of %s: %+v", p.Name, s.Name, p)
			}
		}
	}
}

// What cannot be compared is shown side by side all the same, with the reason first.
func TestBesideRefused(t *testing.T) {
	window := resulttest.Run(1)
	window.Kind = result.KindAttach
	text := string(pageOf(t, resulttest.Run(6), window))
	if want := "Not compared: file0.json is a run and file1.json is a window of a running process (--attach): these do not compare"; !strings.Contains(text, want) {
		t.Errorf("the page does not say %q", want)
	}
	if !strings.Contains(text, `<p class="kicker">folio run --attach</p>`) {
		t.Error("the window is called a run")
	}
}

// Of many results, those of other kinds are named in one line; of single runs there is no chart of
// every run.
func TestBesideKinds(t *testing.T) {
	text := string(pageOf(t, resulttest.Run(1), resulttest.Tune(8, "./prog"), resulttest.Doctor("./prog"), resulttest.Run(1)))
	if want := "Different kinds, not compared with file0.json (run): file1.json (tune), file2.json (doctor)."; !strings.Contains(text, want) {
		t.Errorf("the page does not say %q", want)
	}
	if n := strings.Count(text, "ot compared"); n != 1 {
		t.Errorf("what is not compared is said %d times", n)
	}
	page := document.New(resulttest.Read(t, "a.json", resulttest.Run(1)), resulttest.Read(t, "b.json", resulttest.Run(1)))
	if b := page.Sections[0].Blocks[0]; len(b.Charts) != 1 || len(b.Tables) != 1 {
		t.Errorf("%q has %d charts and %d tables", b.Title, len(b.Charts), len(b.Tables))
	}
}

// mainFigures are those that are drawn side by side.
func mainFigures() (out []figure.Figure) {
	for _, f := range figure.All {
		if f.Main {
			out = append(out, f)
		}
	}
	return out
}
