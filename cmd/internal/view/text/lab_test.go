package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/cmd/internal/lab"
	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/view/gobench"
	"github.com/foliomem/folio/internal/system/page"
)

// labResult is a lab with all that can happen to an arm.
func labResult(t *testing.T) *lab.Result {
	t.Helper()
	e, err := lab.Lookup("faults")
	if err != nil {
		t.Fatal(err)
	}
	arm := func(name string, seconds ...float64) *lab.ArmResult {
		a := &lab.ArmResult{Arm: &lab.Arm{Name: name, About: "about " + name, Task: lab.Task{Kind: page.THP}}}
		for i, s := range seconds {
			a.Samples = append(a.Samples, &trial.Sample{Round: i + 1, Metrics: map[string]float64{
				"Faults/size=1048576 page_seconds": 2 * s, "Faults/size=2097152 page_seconds": s,
				"Faults/size=2097152 total_seconds": 512 * s, "Faults/size=2097152 huge_fraction": 0.5,
			}})
		}
		return a
	}
	out := &lab.Outcome{
		Experiment: e, Params: lab.Params{Size: 2 << 20, Count: 1, Rounds: 6}, Rounds: 6, Complete: true,
		Notes: []string{"something"}, Err: errors.New("faults: populate: out of luck"),
	}
	out.Arms = []*lab.ArmResult{arm("base", 6e-7, 5e-7, 5e-7, 5e-7, 5e-7, 4e-7),
		arm("thp", 1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7), arm("populate"), arm("ahead"), arm("reused")}
	out.Arms[2].Failure = "out of luck"
	out.Arms[2].Samples = []*trial.Sample{{Failure: "exit code 1"}}
	out.Arms[3].Arm.NotRun = "only one processor"
	out.Arms[4].Arm.NotRun, out.Arms[4].Arm.Forbidden = "needs --allow-system, to write 1 to /x", true
	out.Arms[4].Arm.Changes = []settings.Change{{Path: "/x", Value: "1"}}
	other, err := lab.Lookup("pages")
	if err != nil {
		t.Fatal(err)
	}
	refused := &lab.Outcome{Experiment: other, Refused: true, Err: errors.New("pages: too much"), Params: lab.Params{Size: 1 << 50}}
	return &lab.Result{Outcomes: []*lab.Outcome{out, refused}, Seed: 7, Elapsed: 1500 * time.Millisecond}
}

func TestLabText(t *testing.T) {
	r := labResult(t)
	text := textOfLab(t, r)
	for _, want := range []string{
		"\n2 experiments in 1.5s, seed 7, linux 6.18.0, 2 CPUs Test CPU @ 3 GHz, ",
		"  First writes to 2MiB of fresh memory take 256.0µs, 500.0ns a page.\n  2MiB, 6 rounds\n",
		"  base        500.0ns  256.0µs ", "  thp         100.0ns  51.20µs ", "400.0ns to 600.0ns     6\n",
		"  Per base page, by size\n  memory     base      thp\n    1MiB  1.000µs  200.0ns\n    2MiB  500.0ns  100.0ns\n",
		"  populate  out of luck\n  ahead     only one processor\n  reused    needs --allow-system, to write 1 to /x\n",
		"    Transparent huge pages make fresh memory 5.00x as fast.\n",
		"\npages: What does address translation cost random reads, by page size?\n  No answer: too little was measured.\n",
		"\nnote 1: faults: something\nnote 2: faults: populate: out of luck\nnote 3: pages: too much\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	// What did not begin before an interrupt is not shown.
	r.Interrupted = true
	r.Outcomes[1].Err, r.Outcomes[1].Refused = nil, false
	if text := textOfLab(t, r); strings.Contains(text, "pages: What") {
		t.Error(text)
	}
}

func TestLabJSON(t *testing.T) {
	f := &result.Lab{Header: result.Header{Schema: result.Schema, Kind: "lab"}}
	f.Keep(labResult(t))
	f.Keep(labResult(t)) // replaces, and does not add
	data, err := f.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Seed        int
		Experiments []struct {
			Name, Figure, Unit string
			Error              *string
			Conclusions, Notes []string
			Arms               []struct {
				Name    string
				NotRun  *string `json:"not_run"`
				Median  *float64
				Samples []any
				Setting struct {
					Pages  string
					System []map[string]string
				}
				Interval *struct {
					N      int
					Lo, Hi *float64
				}
				Points []struct {
					Size    int `json:"size_bytes"`
					Figures map[string]struct{ Median float64 }
				}
			}
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	e := doc.Experiments[0]
	if doc.Seed != 7 || len(doc.Experiments) != 2 || e.Name != "faults" || e.Figure != "page_seconds" ||
		e.Unit != "sec/page" || *e.Error != "faults: populate: out of luck" || len(e.Conclusions) == 0 || len(e.Notes) != 1 {
		t.Errorf("%s", data)
	}
	base := e.Arms[0]
	if *base.Median != 5e-7 || base.Interval.N != 6 || base.Interval.Lo == nil || base.NotRun != nil || base.Setting.Pages != "thp" ||
		len(base.Points) != 2 || base.Points[1].Size != 2<<20 || base.Points[0].Figures["page_seconds"].Median != 1e-6 {
		t.Errorf("base: %+v", base)
	}
	for i, want := range []string{2: "out of luck", 3: "only one processor", 4: "needs --allow-system, to write 1 to /x"} {
		if want == "" {
			continue
		}
		if a := e.Arms[i]; a.NotRun == nil || *a.NotRun != want || a.Median != nil || a.Interval != nil || a.Samples == nil {
			t.Errorf("%s: %+v", a.Name, a)
		}
	}
	if s := e.Arms[4].Setting.System; len(s) != 1 || s[0]["path"] != "/x" || s[0]["value"] != "1" {
		t.Errorf("system settings %v", s)
	}
	if doc.Experiments[1].Arms == nil {
		t.Error("arms are null")
	}
	empty, err := new(result.Lab).JSON()
	if err != nil || !strings.Contains(string(empty), `"experiments": []`) || !strings.Contains(string(empty), `"notes": []`) {
		t.Errorf("%v: %s", err, empty)
	}
}

func TestLabBench(t *testing.T) {
	f := &result.Lab{}
	f.Keep(labResult(t))
	data, err := gobench.Text(gobench.Lab(f))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	rd := benchfmt.NewReader(bytes.NewReader(data), "x")
	for rd.Scan() {
		r, ok := rd.Result().(*benchfmt.Result)
		if !ok {
			t.Fatalf("%v", rd.Result())
		}
		v, _ := r.Value("sec/page")
		got[fmt.Sprintf("%s %s %.1e", r.GetConfig("arm"), r.Name, v)]++
	}
	for want, n := range map[string]int{"base Faults/size=1MiB 1.0e-06": 4, "base Faults/size=2MiB 5.0e-07": 4,
		"thp Faults/size=2MiB 1.0e-07": 6} {
		if got[want] != n {
			t.Errorf("%q %d times, want %d: %v", want, got[want], n, got)
		}
	}
}

// Arms of several groups have a table each, and JSON says what the runtime was told.
func TestLabGroups(t *testing.T) {
	r := labResult(t)
	o := r.Outcomes[0]
	o.Arms[0].Arm.Group, o.Arms[1].Arm.Group = "one thing", "another"
	o.Arms[1].Arm.Setting = &trial.Setting{GOGC: "400", MemLimit: 1 << 30}
	text := textOfLab(t, r)
	one, another := strings.Index(text, "; one thing\n  arm "), strings.Index(text, "; another\n  arm ")
	if one < 0 || another < one || strings.Count(text, "\n  base ") != 1 {
		t.Error(text)
	}
	f := &result.Lab{Header: result.Header{Schema: result.Schema, Kind: "lab"}}
	f.Keep(r)
	arms := f.Experiments[0].Arms
	if s := arms[1].Setting.Runtime; arms[1].Group != "another" || s == nil || *s.GOGC != "400" || *s.MemLimit != 1<<30 {
		t.Errorf("%+v", arms[1])
	}
	if arms[0].Setting.Runtime != nil {
		t.Errorf("%+v", arms[0].Setting)
	}
}
