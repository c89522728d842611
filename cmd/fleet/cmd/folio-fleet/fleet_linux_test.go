package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/foliomem/folio/cmd/fleet/bench/backtest/replay"
	"github.com/foliomem/folio/cmd/fleet/bench/backtest/synthetic"
	"github.com/foliomem/folio/cmd/fleet/internal/ranking"
	"github.com/foliomem/folio/cmd/fleet/internal/rules"
	"github.com/foliomem/folio/cmd/fleet/internal/test/promtest"
	"github.com/foliomem/folio/internal/test/testenv"
)

func ok(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := fleet(args...)
	if code != 0 || errs != "" {
		t.Fatalf("%q: %d\n%s%s", args, code, out, errs)
	}
	return out
}

// split returns the rules that depend on no others, those that depend on them, and so on:
// promtool backfills one after the other. A group is evaluated at times that depend on its
// file and its name: all have the same, as the rules that depend on each other are in one
// group where Prometheus evaluates them.
func split(t *testing.T, text string) (files [][]byte) {
	t.Helper()
	var f rules.File
	if err := yaml.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	var levels [3][]rules.Rule
	for i, g := range f.Recording() {
		for _, r := range g.Rules {
			level := 1
			switch {
			case i == 0:
				level = 0
			case strings.Contains(r.Expr, rules.TaxCores):
				level = 2
			}
			levels[level] = append(levels[level], r)
		}
	}
	for _, r := range levels {
		data, err := rules.File{Groups: []rules.Group{{Name: "all", Interval: f.Groups[0].Interval, Rules: r}}}.YAML()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	return files
}

// What the agent exposed for some days, backfilled by promtool; the rules, evaluated over
// all of it by promtool; and what top and recommend answer.
func TestBackfilled(t *testing.T) {
	testenv.Long(t)
	days := testenv.Some(1, 7)
	minutes := days*24*60 + 240
	s := promtest.New(t)
	end := time.Now().Truncate(promtest.Block)
	start := end.Add(-time.Duration(minutes) * time.Minute)
	var all []*replay.Exposer
	for _, w := range []struct {
		kind, name string
		seed       uint64
	}{{"daily", "api", 4}, {"page-cache-heavy", "files", 2}} {
		all = append(all, replay.NewExposer(synthetic.New(w.kind, w.seed, days+1), w.name))
	}
	block := int(promtest.Block / time.Minute)
	for from := 0; from < minutes; from += block {
		var b bytes.Buffer
		for _, e := range all {
			if err := e.Write(&b, start, from, from+block, 2); err != nil {
				t.Fatal(err)
			}
		}
		s.Backfill(t, b.Bytes())
	}
	files := split(t, ok(t, "rules", "--sources", "agent,kube", "--interval", "4m", "--alerts=false"))
	config := "global: {evaluation_interval: 1m}\n"
	for _, data := range files {
		file := s.File(t, "rules.yaml", data)
		s.Start(t, config)
		s.Promtool(t, "tsdb", "create-blocks-from", "rules", "--url="+s.URL, "--start="+strconv.FormatInt(start.Unix(), 10), "--end="+strconv.FormatInt(end.Unix(), 10),
			"--output-dir="+s.Data, file)
		s.Stop()
	}
	s.Start(t, config)
	// The series end at a block of two hours.
	window := fmt.Sprintf("%dh", days*24+5)
	var r ranking.Ranking
	if err := json.Unmarshal([]byte(ok(t, "top", "--prometheus", s.URL, "--window", window, "--json", "--price-core-hour", "1", "--price-gib-hour", "0.1")), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Workloads) != 2 || r.Queries > 9 || r.Total.Tax <= 0 {
		t.Fatalf("%+v", r)
	}
	for _, w := range r.Workloads {
		if w.Kind != "StatefulSet" || w.Source != rules.Agent || w.Tax == nil || *w.Tax <= 0 || w.Unused == nil || w.Classes["gc_mark"] <= 0 || w.Money == nil {
			t.Errorf("%+v", w)
		}
		want := w.Classes["gc_mark"]*1*730 + *w.LostBytes/(1<<30)*.1*730
		if diff := *w.Money/want - 1; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%s: money %v, want %v", w.ID, *w.Money, want)
		}
	}
	if text := ok(t, "top", "--prometheus", s.URL, "--window", window); !strings.Contains(text, "shop/api:api") || !strings.Contains(text, "gc_mark") {
		t.Error(text)
	}
	checkRecommend(t, s.URL, window, days, all[0])
}

func checkRecommend(t *testing.T, url, window string, days int, e *replay.Exposer) {
	t.Helper()
	flags := []string{"--prometheus", url, "--window", window}
	var a struct {
		Queries    int
		Days       float64
		Confidence string
		Present    struct {
			Gogc  string
			Limit float64 `json:"memory_limit_bytes"`
		}
		Advised struct {
			Gogc       string
			GOMEMLIMIT float64 `json:"gomemlimit_bytes"`
			Limit      float64 `json:"memory_limit_bytes"`
		}
	}
	if err := json.Unmarshal([]byte(ok(t, append([]string{"recommend", "shop/api", "--json"}, flags...)...)), &a); err != nil {
		t.Fatal(err)
	}
	w := synthetic.New("daily", 4, days+1)
	if a.Queries != 2 || a.Days < float64(days) || a.Present.Gogc != strconv.FormatFloat(w.Setting.GOGC, 'f', -1, 64) || a.Present.Limit != w.Setting.Limit {
		t.Errorf("%+v", a)
	}
	if a.Advised.Limit > a.Present.Limit || days < 6 && (a.Confidence == "high" || a.Advised.Limit < a.Present.Limit) {
		t.Errorf("%+v", a)
	}
	text := ok(t, append([]string{"recommend", "shop/api:api"}, flags...)...)
	if !strings.Contains(text, "Safe because") || !strings.Contains(text, "Nothing was changed") {
		t.Error(text)
	}
	patch := ok(t, append([]string{"recommend", "shop/api", "--patch", "kustomize"}, flags...)...)
	var o struct {
		Kind     string
		Metadata struct{ Name string }
	}
	if err := yaml.Unmarshal([]byte(patch), &o); err != nil || o.Kind != "StatefulSet" || o.Metadata.Name != e.Name || !strings.Contains(patch, "Confidence: ") {
		t.Errorf("%v\n%s", err, patch)
	}
	values := ok(t, append([]string{"recommend", "shop/api", "--patch", "helm", "--values-path", "a.b"}, flags...)...)
	var v struct{ A struct{ B map[string]any } }
	if err := yaml.Unmarshal([]byte(values), &v); err != nil || len(v.A.B) == 0 {
		t.Errorf("%v\n%s", err, values)
	}
	// Names that are not there: what is.
	for _, missing := range []string{"shop/apis", "shop/api:other"} {
		code, _, errs := fleet(append([]string{"recommend", missing}, flags...)...)
		if code != 1 || !strings.Contains(errs, "this namespace has api:api, files:files") {
			t.Errorf("%s: %d %s", missing, code, errs)
		}
	}
	if code, _, errs := fleet(append([]string{"recommend", "none/api"}, flags...)...); code != 1 || !strings.Contains(errs, "nor has any other") {
		t.Errorf("%d %s", code, errs)
	}
	// A window of which the rules ran for a part only.
	if text := ok(t, "top", "--prometheus", url, "--window", "30d"); !strings.Contains(text, "partial: the rules were evaluated for") {
		t.Error(text)
	}
}

// recorded is series as the rules record them, of the last hours, from a function of the
// hours before now.
func recorded(t *testing.T, s *promtest.Server, hours int, series map[string]func(ago float64) float64) {
	t.Helper()
	end := time.Now()
	blocks := map[int64]*bytes.Buffer{}
	series[`folio:rules:info{version="1",interval="120"}`] = func(float64) float64 { return 1 }
	for name, of := range series {
		for at := end.Add(-time.Duration(hours) * time.Hour).Truncate(2 * time.Minute); at.Before(end); at = at.Add(2 * time.Minute) {
			v := of(end.Sub(at).Hours())
			if v < 0 {
				continue
			}
			b := at.Truncate(promtest.Block).Unix()
			if blocks[b] == nil {
				blocks[b] = &bytes.Buffer{}
			}
			blocks[b].WriteString(promtest.Sample(name, v, at))
		}
	}
	for _, b := range blocks {
		s.Backfill(t, b.Bytes())
	}
}

const full = `namespace="shop",workload="%s",workload_kind="Deployment",container="%s",source="agent"`

// figures are those that recommend needs, of a workload that ran between two times.
func figures(into map[string]func(float64) float64, workload, container string, from, until float64) {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace
	for name, v := range map[string]float64{
		"workload:folio_pods:count": 2, "workload:folio_live_heap_bytes:max": 100 << 20, "workload:folio_heap_resident_bytes:max": 220 << 20,
		"workload:folio_off_heap_bytes:max": 50 << 20, "workload:folio_page_cache_bytes:max": 10 << 20, "workload:folio_memory_bytes:max": 280 << 20,
		"workload:folio_memory_limit_bytes:min": 1 << 30, "workload:folio_cpu_cores:sum": 2, "workload:folio_memory_tax_cores:total": .5,
		"workload:folio_gogc_percent:max": 100, "workload:folio_gogc_percent:min": 100,
	} {
		into[name+"{"+fmt.Sprintf(full, quote(workload), quote(container))+"}"] = func(ago float64) float64 {
			if ago > from || ago < until {
				return -1
			}
			return v
		}
	}
}

// Names that no API server allows. What is behind a colon is a container.
const (
	evil      = "x\x1b[2J\"}\nkind= Secret\n- \u202e"
	container = "x\x1b[2J\"}\nkind: Secret\n- \u202e"
)

// Names that break out of nothing: not the terminal, not JSON, not a patch, not a query. A
// workload that was renamed, and one that is gone.
func TestNames(t *testing.T) {
	testenv.Long(t)
	s := promtest.New(t)
	series := map[string]func(float64) float64{}
	figures(series, evil, container, 30, 0)
	figures(series, "old", "c", 60, 26)
	figures(series, "new", "c", 26, 0)
	figures(series, "two", "a", 30, 0)
	figures(series, "two", "b", 30, 0)
	recorded(t, s, 60, series)
	s.Start(t, "global: {}\n")
	flags := []string{"--prometheus", s.URL}
	run := func(args ...string) (int, string) {
		if !slices.Contains(args, "--window") {
			args = append(args, "--window", "59h")
		}
		code, out, errs := fleet(append(append([]string{args[0]}, flags...), args[1:]...)...)
		for _, text := range []string{out, errs} {
			if strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "\nkind: Secret") {
				t.Errorf("%q prints %q", args, text)
			}
		}
		return code, out + errs
	}
	if code, text := run("top"); code != 0 || strings.Count(text, "shop/") != 5 || !strings.Contains(text, `x\x1b[2J`) {
		t.Errorf("%d\n%s", code, text)
	}
	code, text := run("top", "--json")
	var r ranking.Ranking
	if err := json.Unmarshal([]byte(text), &r); code != 0 || err != nil || len(r.Workloads) != 5 {
		t.Errorf("%d %v\n%s", code, err, text)
	}
	if code, text := run("recommend", "shop/"+evil); code != 0 || !strings.Contains(text, `x\x1b[2J`) {
		t.Errorf("%d\n%s", code, text)
	}
	if code, text := run("recommend", "shop/"+evil, "--patch", "kustomize"); code != 1 || !strings.Contains(text, "no patch can be made") {
		t.Errorf("%d\n%s", code, text)
	}
	code, text = run("recommend", "shop/"+evil, "--patch", "helm")
	var values map[string]any
	if err := yaml.Unmarshal([]byte(text), &values); code != 0 || err != nil || values["env"] == nil || values["kind"] != nil {
		t.Errorf("%d %v\n%s", code, err, text)
	}
	if code, text := run("recommend", "shop/two"); code != 1 || !strings.Contains(text, "give one of a, b") {
		t.Errorf("%d\n%s", code, text)
	}
	// Renamed 26 hours ago.
	if code, text := run("recommend", "shop/new"); code != 0 || !strings.Contains(text, "--formerly NAME") || !strings.Contains(text, "1.1 days") {
		t.Errorf("%d\n%s", code, text)
	}
	if code, text := run("recommend", "shop/new", "--formerly", "old"); code != 0 || strings.Contains(text, "--formerly NAME") || !strings.Contains(text, "2.5 days") {
		t.Errorf("%d\n%s", code, text)
	}
	if code, text := run("recommend", "shop/old"); code != 0 || !strings.Contains(text, "does not run any more, or was renamed") {
		t.Errorf("%d\n%s", code, text)
	}
	// Less than a day of figures.
	if code, text := run("recommend", "shop/new", "--window", "12h"); code != 1 || !strings.Contains(text, "too little for a recommendation") {
		t.Errorf("%d\n%s", code, text)
	}
	// Half of the window.
	if code, text := run("top", "--window", "10d"); code != 0 || !strings.Contains(text, "partial: the rules were evaluated for 60h") {
		t.Errorf("%d\n%s", code, text)
	}
	// A matcher that matches nothing; one that is none.
	if code, text := run("top", "--matcher", `cluster="a"`); code != 1 || !strings.Contains(text, "--matcher does not match") {
		t.Errorf("%d\n%s", code, text)
	}
	if code, text := run("top", "--matcher", `cluster=`); code != 1 || !strings.Contains(text, "parse error") {
		t.Errorf("%d\n%s", code, text)
	}
}

// A Prometheus without the rules.
func TestWithoutRules(t *testing.T) {
	testenv.Long(t)
	s := promtest.New(t)
	s.Start(t, "global: {}\n")
	for _, args := range [][]string{{"top"}, {"recommend", "a/b"}} {
		code, out, errs := fleet(append(args, "--prometheus", s.URL)...)
		if code != 1 || out != "" || !strings.Contains(errs, "its rules are not loaded") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: %d\n%s%s", args, code, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Data, "wal")); err != nil {
		t.Error(err)
	}
}
