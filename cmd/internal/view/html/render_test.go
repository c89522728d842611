package html

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"flag"
	unescape "html"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/analysis"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/report"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

var (
	scripts = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	styles  = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
	raws    = regexp.MustCompile(`(?s)<script type="application/gzip" id="([^"]*)">(.*?)</script>`)
	charts  = regexp.MustCompile(`(?s)<script type="application/json" class="chart-data" data-for="([^"]*)">(.*?)</script>`)
)

// What a page says, without its script and style, must not change unseen.
func TestGolden(t *testing.T) {
	for name, file := range map[string]any{
		"tune": resulttest.Tune(8, "./prog", "-n", "5"), "run": resulttest.Run(6), "lab": resulttest.Lab(),
		"inspect": resulttest.Inspect(inspect.GoHeap, "prog"), "list": resulttest.List("prog"), "doctor": resulttest.Doctor("prog"), "suggest": resulttest.Suggest("prog"),
		"charge": resulttest.Charge("prog"),
	} {
		got := pageOf(t, file)
		for _, re := range []*regexp.Regexp{scripts, styles, raws, regexp.MustCompile(`content="default-src[^"]*"`)} {
			got = re.ReplaceAll(got, nil)
		}
		path := filepath.Join("testdata", name+".html")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs (-update rewrites it, then look at the difference)", path)
		}
	}
}

// A page of a search says once how sure its answer is, as the terminal does.
func TestOneConfidence(t *testing.T) {
	for name, change := range map[string]func(*result.File){
		"conclusive": func(*result.File) {},
		"the default": func(f *result.File) {
			f.Recommendations = []result.Recommendation{{Goal: tune.Fastest, Arm: "default"}}
		},
		"inconclusive": func(f *result.File) {
			f.Answer = &tune.Answer{State: tune.Inconclusive, UpTo: 0.2}
			f.Ended = "the time budget is spent"
		},
		"no effect": func(f *result.File) { f.Answer = &tune.Answer{State: tune.NoEffect}; f.Ended = "nothing to compare" },
	} {
		f := resulttest.Tune(8, "./prog")
		change(f)
		_, sure := report.Answers(f)
		text := string(pageOf(t, f))
		text = unescape.UnescapeString(text[:strings.Index(text, "<figure>")])
		if sure != "" && !strings.Contains(text, sure) {
			t.Errorf("%s: the page does not say %q", name, sure)
		}
		for _, word := range []string{"conclusive", "Quiet: ", "Noisy: "} {
			if n := strings.Count(strings.ToLower(text), strings.ToLower(word)); n > strings.Count(strings.ToLower(sure), word) {
				t.Errorf("%s: the page says %q %d times", name, word, n)
			}
		}
	}
}

// The first thing that a page says is what to do, with the figure and how sure
// it is, and the line to paste.
func TestAnswerFirst(t *testing.T) {
	text := string(pageOf(t, resulttest.Tune(8, "./prog")))
	answer := strings.Index(text, "Set GOGC=400.")
	if answer < 0 || answer > strings.Index(text, "<figure>") {
		t.Errorf("the answer is at %d, the first chart at %d", answer, strings.Index(text, "<figure>"))
	}
	for _, want := range []string{"−40.0%", "wall time -40.0% [-41.2%, -38.8%]: 1.200s instead of 2.000s; peak RSS +120%: 220.0MiB instead of 100.0MiB", "GOGC=400 ./prog</code>", "Cheaper", "GOGC=200 ./prog</code>",
		"1 other setting (=) cannot be told apart from it; none takes less memory.", "dropped early: at least 1.25x slower"} {
		if !strings.Contains(strings.ReplaceAll(text, "&#43;", "+"), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	f := resulttest.Tune(8, "./prog")
	f.Recommendations[0].Permanent = []string{"to keep it: one of these:", "folio build '<x>'"}
	if text := string(pageOf(t, f)); !strings.Contains(text, "To keep it: one of these:") ||
		!strings.Contains(text, "folio build &#39;&lt;x&gt;&#39;") {
		t.Error("the page does not say how to keep what a build has")
	}
	f = resulttest.Tune(8, "./prog")
	f.Recommendations = []result.Recommendation{{Goal: tune.Fastest, Arm: "default"}}
	if text := string(pageOf(t, f)); !strings.Contains(text, "Keep the default: no setting is better by more than 3%.") {
		t.Error("the page does not say to keep the default")
	}
	f.Answer = &tune.Answer{State: tune.Inconclusive, UpTo: 0.2, Missing: 100, Try: "--budget 7m"}
	if text := string(pageOf(t, f)); !strings.Contains(text,
		"Inconclusive: no setting is known to be better than the default.") || !strings.Contains(text, "--budget 7m would probably do") {
		t.Error("the page does not say that the search is inconclusive")
	}
	f.Answer = &tune.Answer{State: tune.Inconclusive, Untried: 14, Missing: 100, Try: "--budget 7m"}
	if text := string(pageOf(t, f)); !strings.Contains(text, "14 settings not tried; --budget 7m would probably do") ||
		strings.Contains(text, "Keep the default") {
		t.Error("the page does not say that settings were not tried")
	}
	f = resulttest.Tune(0, "./prog")
	f.Recommendations, f.Answer, f.Ended = nil, &tune.Answer{State: tune.TooLittle}, "interrupted in round 1 of the race"
	if text := string(pageOf(t, f)); !strings.Contains(text,
		"Nothing was compared: interrupted in round 1 of the race.") {
		t.Error("the page does not say that nothing was measured")
	}
}

// A page says what the result says: it adds no sentence, and no name becomes markup.
func TestPageSaysWhatTheResultSays(t *testing.T) {
	f := resulttest.Run(3)
	f.Analysis.Time = append(f.Analysis.Time, "<b>\u202e")
	text := string(pageOf(t, f))
	for _, line := range f.Analysis.Time[:len(f.Analysis.Time)-1] {
		if !strings.Contains(text, template.HTMLEscapeString(line)) {
			t.Errorf("the page does not say %q", line)
		}
	}
	if !strings.Contains(text, `&lt;b&gt;\u202e`) {
		t.Error("a sentence of a file is not shown as text")
	}
	f.Analysis.Findings[0].What = "stand on your head"
	if text := string(pageOf(t, f)); !strings.Contains(text, "Stand on your head.") {
		t.Error("the page has another finding than the result")
	}
}

// A line to paste runs the program as it was run, with its input and all.
func TestLinesToPaste(t *testing.T) {
	f := resulttest.Run(1)
	f.Program.Input, f.Program.IgnoreExit = "in put.txt", true
	f.Program.Limits = &result.Limits{Memory: new(uint64(512 << 20)), CPUs: new(1.5)}
	f.Metric = &result.Target{Name: "op/s", Pattern: "([0-9.]*) op/s", Higher: true}
	analysis.Run(f, nil)
	if text := string(pageOf(t, f)); !strings.Contains(text, `folio tune --metric &#39;op/s=([0-9.]*) op/s&#39; --input &#39;in put.txt&#39; `+
		`--cgroup-memory 512MiB --cgroup-cpus 1.5 --higher-is-better --ignore-exit -- ./prog -n 5</code>`) {
		t.Error("the line for a search is another one")
	} else if !strings.Contains(text, "limits: 512MiB, 1.5 CPUs") {
		t.Error("the page does not say the limits")
	}
	f = resulttest.Run(1)
	f.Program.Build = &result.Build{Package: "./cmd/prog", Patches: []string{"heap-hugepages@abc"}}
	analysis.Run(f, nil)
	text := string(pageOf(t, f))
	for _, want := range []string{"<h1><code><bdi>folio run --build ./cmd/prog --thp=system -- -n 5</bdi></code></h1>",
		"built from ./cmd/prog with heap-hugepages@abc", "folio tune --build ./cmd/prog -- -n 5</code>"} {
		if !strings.Contains(text, want) {
			t.Errorf("of a program that folio built, the page does not say %q", want)
		}
	}
	g := resulttest.Tune(6, "prog", "-n", "5")
	g.Program.Build = f.Program.Build
	if text := string(pageOf(t, g)); !strings.Contains(text, `"c":"folio run --build ./cmd/prog --gogc=400 --thp=system -- -n 5"`) {
		t.Error("a click on a point copies another line")
	}
}

// Every chart has a table, and data that its script can read; ids are unique.
func TestChartsHaveTables(t *testing.T) {
	for name, file := range map[string]any{"tune": resulttest.Tune(8, "./prog"), "run": resulttest.Run(2), "lab": resulttest.Lab(),
		"inspect": resulttest.Inspect(inspect.GoHeap, "prog"), "list": resulttest.List("prog"), "suggest": resulttest.Suggest("prog"), "charge": resulttest.Charge("prog")} {
		p := document.New(resulttest.Read(t, name, file))
		n := 0
		for _, s := range p.Sections {
			for _, b := range s.Blocks {
				charts, tables := b.AllCharts(), b.AllTables()
				n += len(charts)
				if len(charts) > 0 && len(tables) == 0 {
					t.Errorf("%s: %s: charts without a table", name, b.Title)
				}
				for _, tb := range tables {
					for _, r := range tb.Rows {
						if len(r.Cells) != len(tb.Head) {
							t.Errorf("%s: %s: a row of %d cells under %d headings", name, tb.Caption, len(r.Cells), len(tb.Head))
						}
					}
				}
			}
		}
		out, err := Render(p)
		if err != nil {
			t.Fatal(err)
		}
		found := charts.FindAllSubmatch(out, -1)
		if len(found) != n || n == 0 {
			t.Errorf("%s: %d charts, %d with data", name, n, len(found))
		}
		for _, m := range found {
			var c document.Chart
			if err := json.Unmarshal(m[2], &c); err != nil {
				t.Errorf("%s: %s: %v", name, m[1], err)
			}
			if bytes.Count(out, []byte(`id="`+string(m[1])+`"`)) != 1 {
				t.Errorf("%s: the id %s is not unique", name, m[1])
			}
		}
	}
}

// Whatever a program, a path or a host is called, it stays text.
func TestHostileNames(t *testing.T) {
	const evil = `</script><img src=x onerror=alert(1)>"'&<!--` + "\u202egnp.exe\u2066\x00\x1b[31m`${1}\u2028"
	f := resulttest.Tune(8, "./"+evil, evil)
	f.Host.CPU, f.Host.Kernel, f.Notes = evil, evil, []string{evil}
	f.Arms[2].Name, f.Arms[1].Reason = evil, evil
	f.Arms[0].Samples[0].Metrics = map[string]float64{evil: 1}
	f.Arms[0].Samples[0].Profile.Sites[0].Func = evil
	f.Program.Load, f.Program.GoVersion = evil, new(evil)
	l := resulttest.Lab()
	l.Experiments[0].Name, l.Experiments[0].Conclusions, l.Experiments[0].Arms[0].Name = evil, []string{evil}, evil
	l.Notes = []string{evil}
	for name, out := range map[string][]byte{"tune": pageOf(t, f), "lab": pageOf(t, l), "both": pageOf(t, f, l),
		"inspect": pageOf(t, resulttest.Inspect(inspect.GoHeap, evil)), "list": pageOf(t, resulttest.List(evil)),
		"doctor": pageOf(t, resulttest.Doctor(evil)), "charge": pageOf(t, resulttest.Charge(evil)), "suggest": pageOf(t, resulttest.Suggest(evil))} {
		plain := pageOf(t, resulttest.Tune(8, "./prog"))
		if name == "lab" {
			plain = pageOf(t, resulttest.Lab())
		}
		text := string(out)
		if strings.Contains(text, "<img") || strings.Contains(text, "<!--") && !strings.Contains(string(plain), "<!--") {
			t.Errorf("%s: a name became an element", name)
		}
		if got, want := strings.Count(text, "</script>"), strings.Count(text, "<script"); got != want {
			t.Errorf("%s: %d scripts begin and %d end", name, want, got)
		}
		if i := strings.IndexAny(text, "\u202e\u2066\x00\x1b\u2028"); i >= 0 {
			t.Errorf("%s: what cannot be seen is in the page: %q", name, text[max(0, i-40):i+10])
		}
		if !strings.Contains(text, `\u202egnp.exe`) {
			t.Errorf("%s: what was hidden is not shown", name)
		}
	}
}

// Addresses are links, and whatever else a text is stays text.
func TestLinks(t *testing.T) {
	for text, want := range map[string]string{
		"See https://go.dev/doc/gc-guide#GOGC.":     `See <a href="https://go.dev/doc/gc-guide#GOGC" rel="noreferrer">https://go.dev/doc/gc-guide#GOGC</a>.`,
		"(https://a.b/c?d=e&f), <b> https://g.h/":   `(<a href="https://a.b/c?d=e&amp;f" rel="noreferrer">https://a.b/c?d=e&amp;f</a>), &lt;b&gt; <a href="https://g.h/" rel="noreferrer">https://g.h/</a>`,
		`https://a.b/"onclick="x`:                   `<a href="https://a.b/" rel="noreferrer">https://a.b/</a>&#34;onclick=&#34;x`,
		"javascript:alert(1) http://a.b/ https://)": "javascript:alert(1) http://a.b/ https://)",
	} {
		f := resulttest.Tune(8, "./prog")
		f.Notes = []string{text}
		if out := pageOf(t, f); !bytes.Contains(out, []byte("<li><bdi>"+want+"</bdi></li>")) {
			t.Errorf("%q is not %s", text, want)
		}
	}
}

// The policy allows exactly the script and style of the page, and no request.
func TestPolicy(t *testing.T) {
	out := pageOf(t, resulttest.Tune(8, "./prog"))
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindSubmatch(out)
	if policy == nil {
		t.Fatal("no policy")
	}
	text := strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(string(policy[1]))
	for _, m := range append(scripts.FindAllSubmatch(out, -1), styles.FindAllSubmatch(out, -1)...) {
		if !strings.Contains(text, hash(string(m[1]))) {
			t.Errorf("the policy does not allow %.40q", m[1])
		}
	}
	if n := len(scripts.FindAll(out, -1)); n != 2 {
		t.Errorf("%d scripts", n)
	}
	for _, bad := range []string{"unsafe", "http:", "https:", "*"} {
		if strings.Contains(text, bad) {
			t.Errorf("the policy has %s: %s", bad, text)
		}
	}
	if !strings.Contains(text, "default-src 'none'") {
		t.Errorf("the policy is %s", text)
	}
	own := raws.ReplaceAll(scripts.ReplaceAll(out, nil), nil)
	if m := regexp.MustCompile(`\s(on[a-z]+|style|src)=`).Find(own); m != nil {
		t.Errorf("an attribute that the policy forbids: %s", m)
	}
}

// The result can be taken out of the page as it was.
func TestRaw(t *testing.T) {
	f := resulttest.Tune(8, "./prog")
	m := raws.FindSubmatch(pageOf(t, f))
	if m == nil {
		t.Fatal("no result in the page")
	}
	zipped, err := base64.StdEncoding.DecodeString(string(m[2]))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the result in the page is another one")
	}
}

// A page stays small enough to mail.
func TestSize(t *testing.T) {
	if n := len(pageOf(t, resulttest.Tune(40, "./prog"))); n > 500<<10 {
		t.Errorf("200 samples: %d bytes", n)
	}
	if n := len(pageOf(t, resulttest.Search(20, 60))); n > 1<<20 {
		t.Errorf("a search of 20 settings and 660 runs: %d bytes", n)
	}
	if n := len(pageOf(t, resulttest.Search(20, 994))); n > 4<<20 {
		t.Errorf("a search of 20 settings and 10,000 runs: %d bytes", n)
	}
	if n := len(largePage(t)); n > 4<<20 {
		t.Errorf("10,000 samples: %d bytes", n)
	}
}

// What was not measured does not break a page.
func TestLittleMeasured(t *testing.T) {
	empty := &result.File{Header: result.Header{Schema: result.Schema, Kind: "tune"}, Program: result.Program{Command: []string{"./prog"}}}
	failed := resulttest.Tune(1, "./prog")
	for i := range failed.Arms {
		failed.Arms[i].Samples[0].Failure = "exit code 1"
		failed.Arms[i].Status = "failed"
	}
	none := resulttest.Run(1)
	none.Arms[0].Samples = nil
	bare := resulttest.Run(1)
	s := bare.Arms[0].Samples[0]
	s.Series, s.Profile, s.GCRuntimeCPU, s.GCCycles, s.PeakTreeRSS, s.PeakRSS, s.CPU = nil, nil, nil, nil, nil, nil, 0
	lab := &result.Lab{Header: result.Header{Schema: result.Schema, Kind: "lab"}}
	for i, f := range []any{empty, failed, none, bare, lab} {
		if out := raws.ReplaceAll(scripts.ReplaceAll(pageOf(t, f), nil), nil); bytes.Contains(out, []byte("NaN")) ||
			bytes.Contains(out, []byte("Inf")) {
			t.Errorf("file %d: the page has what is not a number", i)
		}
	}
	pageOf(t, empty, failed, none, bare, lab)
}
