package html

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/internal/test/testenv"
)

// brokenFiles are results of commands that failed, were interrupted, or had hardly
// anything to measure, as folio writes them; each with what its page must say.
func brokenFiles() map[string]struct {
	file any
	says []string
} {
	type broken = struct {
		file any
		says []string
	}
	incomplete := func(rounds int, why string) *result.File {
		f := resulttest.Tune(rounds, "./prog")
		f.Complete, f.Error, f.Recommendations, f.Rounds = false, why, nil, rounds
		return f
	}
	warmup := incomplete(0, "the command failed with its default settings: exit code 2: no <database>")
	warmup.Metric, warmup.Arms, warmup.Notes = nil, warmup.Arms[:1], nil
	warmup.Arms[0].Samples = []*trial.Sample{}
	late := incomplete(1, "the load generator was late")
	late.Program.Ready, late.Program.Requests = "http://127.0.0.1:80/", &result.LoadSettings{URLs: []string{"http://127.0.0.1:80/x"}, Rate: 50, Duration: 2, Warmup: 1,
		Timeout: 5, MaxInFlight: 10_000, Method: "GET", HTTP: "negotiated", Arrivals: "constant"}
	second := incomplete(2, "the command failed with its default settings, though not the first time: exit code 3")
	for i := range second.Arms {
		resulttest.Fail(&second.Arms[i], 1)
	}
	first := incomplete(1, "interrupted")
	first.Arms = first.Arms[:2]
	all := incomplete(2, "the command worked once and then failed in every run: exit code 3")
	for i := range all.Arms {
		resulttest.Fail(&all.Arms[i], 0)
		all.Arms[i].Status, all.Arms[i].Reason = string(tune.Failed), "exit code 3"
	}
	one := incomplete(1, "interrupted")
	one.Arms = one.Arms[:1]
	failedRun := resulttest.Run(1)
	resulttest.Fail(&failedRun.Arms[0], 0)
	failedRun.Arms[0].Samples[0].Series, failedRun.Arms[0].Samples[0].Profile = nil, nil
	nothing := resulttest.Run(1)
	nothing.Complete, nothing.Error, nothing.Arms = false, "interrupted before anything was measured", []result.Arm{{}}
	half := resulttest.Lab()
	half.Complete, half.Error = false, "interrupted"
	for i := range half.Experiments {
		e := &half.Experiments[i]
		e.Complete = false
		if i == 0 {
			continue
		}
		e.Conclusions, e.Parameters.Rounds = nil, 0
		for j := range e.Arms {
			e.Arms[j].Samples, e.Arms[j].Points, e.Arms[j].NotRun = []*trial.Sample{}, nil, new("the lab ended before")
		}
	}
	before := resulttest.AB()
	before.Complete, before.Error, before.Result = false, "./<old>: exit code 3: no database", nil
	for i := range before.Arms {
		before.Arms[i].Samples = nil
	}
	stopped := resulttest.AB()
	stopped.Complete, stopped.Error = false, "interrupted"
	window := resulttest.Run(1)
	window.Kind, window.Program.Attached, window.Error = result.KindAttach, 4242, "process 4242 has ended"
	window.Arms, window.Analysis, window.Complete = []result.Arm{{}}, nil, false
	blind := resulttest.Doctor("prog")
	blind.Findings = nil
	for i := range blind.Checks {
		blind.Checks[i].State, blind.Checks[i].Why = diagnose.NotChecked, new("open /proc/4242/smaps: permission denied")
	}
	hidden := result.NewInspect("v0")
	hidden.Kind = result.KindProcess
	hidden.Process = &result.Process{ProcessID: result.ProcessID{PID: 4242, Name: "prog"}, Notes: []string{"smaps cannot be read: permission denied"}}
	none := result.NewInspect("v0")
	none.Kind, none.Processes, none.Unseen = result.KindList, &[]result.ProcessLine{}, &result.Unseen{Denied: 12, DeniedBytes: 1 << 30}
	small := result.NewInspect("v0")
	small.Kind, small.Processes, small.Unseen = result.KindList, &[]result.ProcessLine{}, &result.Unseen{Denied: 1, Small: 9}
	unlisted := result.NewInspect("v0")
	unlisted.Kind, unlisted.Processes, unlisted.Unseen = result.KindList, &[]result.ProcessLine{}, &result.Unseen{Hidden: new("/proc is mounted with hidepid=invisible")}
	useless := resulttest.Suggest("./prog")
	useless.Suggestions, useless.Others, useless.Nothing = nil, nil, new("the profile has no samples")
	useless.Cost = result.SuggestCost{}
	return map[string]broken{
		"ab failed":      {before, []string{"./&lt;old&gt;: exit code 3: no database.", "Nothing was compared.", "folio ab -- prog &#39;&lt;x&gt;&#39; -- prog &#39;&lt;x&gt;&#39;</code>"}},
		"ab interrupted": {stopped, []string{"Interrupted. This is what was known by then.", "folio ab -- prog"}},
		"attach failed":  {window, []string{"Process 4242 has ended.", "folio run --attach 4242</code>"}},
		"doctor blind": {blind, []string{"No check could be made: open /proc/4242/smaps: permission denied.",
			"sudo folio doctor 4242</code>"}},
		"inspect blind": {hidden, []string{"The memory of process 4242 could not be looked at: smaps cannot be read: permission denied.",
			"sudo folio inspect 4242</code>"}},
		"list blind":  {none, []string{"No process could be looked at: 12 of other users, or protected.", "sudo folio inspect</code>"}},
		"list small":  {small, []string{"No process that folio may look at has as much anonymous memory as a huge page."}},
		"list hidden": {unlisted, []string{"No process could be looked at: /proc is mounted with hidepid=invisible.", "hidden: /proc is", "sudo folio inspect</code>"}},
		"suggest without samples": {useless, []string{"Nothing to gain by an arena: the profile has no samples.",
			"folio run -- go test -run &#39;^$&#39; ./prog</code>"}},
		"failed at warm-up": {warmup, []string{"The command failed with its default settings: exit code 2: no &lt;database&gt;.",
			"<code>./prog</code>", "<code>folio tune --ignore-exit -- ./prog</code>", "<code>folio tune -- ./prog</code>"}},
		"late load": {late, []string{"The load generator was late.",
			"<code>folio tune --ready http://127.0.0.1:80/ --rate 50 --target http://127.0.0.1:80/x --load-duration 2s --load-warmup 1s -- ./prog</code>"}},
		"failed at round 2":    {second, []string{"The command failed with its default settings, though not the first time: exit code 3."}},
		"interrupted, round 1": {first, []string{"Interrupted. This is what was known by then."}},
		"all arms failed":      {all, []string{"The command worked once and then failed in every run: exit code 3.", "failed"}},
		"one sample":           {one, []string{"Interrupted."}},
		"no samples":           {nothing, []string{"Interrupted before anything was measured.", "Nothing was measured."}},
		"no arms": {&result.File{Header: result.Header{Schema: result.Schema, Kind: "tune"}, Error: "x"},
			[]string{"Nothing was measured.", "X."}},
		"run of failed program": {failedRun, []string{"Exit code 3. The figures are of the failed run."}},
		"lab interrupted":       {half, []string{"Interrupted. This is what was known by then.", "No answer: too little was measured.", "folio lab pages faults madvise"}},
	}
}

// The page of a command that failed or was interrupted says why before all else, and
// has what was measured.
func TestFailedPages(t *testing.T) {
	for name, c := range brokenFiles() {
		text := string(pageOf(t, c.file))
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page does not say %q", name, want)
			}
		}
		if reason := strings.Index(text, c.says[0]); reason < 0 ||
			strings.Contains(text, "<figure>") && reason > strings.Index(text, "<figure>") {
			t.Errorf("%s: the reason is at %d, the first chart before it", name, reason)
		}
		if n := strings.Count(text, `class="answer main`); n > 1 && name != "lab interrupted" {
			t.Errorf("%s: %d answers are the first", name, n)
		}
		if strings.Contains(text, "<bdi>0B</bdi>") && name == "failed at warm-up" {
			t.Errorf("%s: memory that nobody measured is 0B", name)
		}
		if strings.Contains(text, `"series":null`) || strings.Contains(text, `"p":null`) {
			t.Errorf("%s: a chart has null for a list", name)
		}
	}
}

// Its script runs to the end, and its tables sort.
func TestFailedPagesInBrowser(t *testing.T) {
	testenv.FullOnly(t)
	for name, c := range brokenFiles() {
		t.Run(name, func(t *testing.T) {
			b := open(t, pageOf(t, c.file), 1280, 900)
			if got := eval[[]string](b, missingPoints); len(got) > 0 {
				t.Errorf("%q", got)
			}
			eval[int](b, `(() => { const all = document.querySelectorAll('.sort, .legend button'); all.forEach(x => x.click()); return all.length; })()`)
			b.keep("failed-" + strings.ReplaceAll(name, " ", "-") + ".png")
		})
	}
	pages := map[string]any{"both": nil}
	for name := range pages {
		t.Run(name, func(t *testing.T) {
			files := brokenFiles()
			open(t, pageOf(t, files["failed at round 2"].file, files["interrupted, round 1"].file), 1280, 900)
			open(t, pageOf(t, files["no samples"].file, files["run of failed program"].file), 1280, 900)
		})
	}
}

// The script survives charts without lists, should any ever be written.
func TestChartWithoutSeries(t *testing.T) {
	testenv.Long(t)
	n := 0
	page := charts.ReplaceAllFunc(pageOf(t, resulttest.Tune(8, "./prog"), resulttest.Lab()), func(script []byte) []byte {
		parts := charts.FindSubmatchIndex(script)
		var c map[string]any
		if err := json.Unmarshal(script[parts[4]:parts[5]], &c); err != nil {
			t.Fatal(err)
		}
		if n++; n%2 == 0 {
			c["series"] = nil
		} else {
			for _, s := range c["series"].([]any) {
				s.(map[string]any)["p"] = nil
			}
		}
		c["y"].(map[string]any)["categories"] = nil
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(script[:parts[4]], data, script[parts[5]:])
	})
	b := open(t, page, 1280, 900)
	if got := eval[int](b, `document.querySelectorAll('.chart svg[role=img]').length`); got != n || n < 10 {
		t.Errorf("%d of %d charts are drawn", got, n)
	}
}
