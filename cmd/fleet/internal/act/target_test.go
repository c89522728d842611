package act

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/cmd/fleet/internal/ranking"
	"github.com/foliomem/folio/cmd/fleet/internal/recommend"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

const mib = 1 << 20

func TestRules(t *testing.T) {
	p, err := parse([]byte("settings:\n- {label: a=b, gogc: 150}\n- {label: a=b, gogc: off, memoryLimit: fit}\n"))
	if err == nil || err.Error() != "settings, rule 2: rule 1 has all its pods" {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = parse([]byte("settings:\n- {label: a=b, container: x, gogc: \"150\"}\n- {label: a=b, gogc: off, memoryLimit: 1GiB}\n- {label: a=c, gogc: recommended}\n- {label: a=d, memoryLimit: 1073741824}\n"))
	want := fmt.Sprint([]Rule{{"a", "b", "x", "150", ""}, {"a", "b", "", "off", "1GiB"}, {"a", "c", "", "recommended", ""}, {"a", "d", "", "", "1073741824"}})
	if err != nil || fmt.Sprint(p.Rules) != want || !p.Recommends() {
		t.Errorf("%+v, %v; want %s", p.Rules, err, want)
	}
	for text, want := range map[string]string{
		"{gogc: 100}":                                `label: "": want KEY=VALUE`,
		"{label: a=b}":                               "want gogc, memoryLimit or both",
		"{label: a=b, gogc: -1}":                     `"-1": want off, or a percentage`,
		"{label: a=b, gogc: 1.5}":                    `"1.5": want off, or a percentage`,
		"{label: a=b, gogc: on}":                     "want a value",
		"{label: a=b, gogc: [1]}":                    "want a value",
		"{label: a=b, gogc: off}":                    "gogc: off without memoryLimit",
		"{label: a=b, memoryLimit: off}":             "memoryLimit: off: want a size",
		"{label: a=b, memoryLimit: 0}":               "want a size",
		"{label: a=b, memoryLimit: 512 potatoes}":    "want a size",
		"{label: a=b, gogc: 1, limit: 1}":            "unknown field",
		"{label: a=b, gogc: 1}, {label: c=d}":        "rule 2",
		strings.Repeat("{label: a=b, gogc: 1},", 65): "65 rules: want 64",
	} {
		if p, err := parse([]byte("settings: [" + text + "]")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %+v, %v", text, p, err)
		}
	}
}

// A container of 512 MiB with 100 MiB outside the runtime, which has 60 MiB, 40 of them live.
func fitted(limit, outside uint64) *memlimit.Fit {
	f := memlimit.Container{Limit: limit * mib, Fixed: new((outside + 60) * mib)}.Fit(runtimeOf(60, 40), 0)
	return &f
}

func runtimeOf(resident, live uint64) memlimit.Runtime {
	return memlimit.Runtime{Resident: resident * mib, Live: live * mib, Needs: (live + 4) * mib}
}

func TestTerms(t *testing.T) {
	const no = math.MaxInt64
	def := goruntime.GCSettings{Percent: 100, Limit: no}
	advised := func(gogc string, limit float64) recommend.Setting {
		s := recommend.Setting{GOGC: gogc}
		if limit > 0 {
			s.GOMEMLIMIT = &limit
		}
		return s
	}
	for _, c := range []struct {
		name        string
		gogc, limit string
		advised     recommend.Setting
		before, now goruntime.GCSettings
		fit         *memlimit.Fit
		kept        uint64 // MiB
		want        string // the settings, or a reason
	}{
		{"GOGC that fits", "200", "", advised("", 0), def, def, fitted(512, 100), 0, "200 off"},
		{"GOGC that does not", "900", "", advised("", 0), def, def, fitted(512, 100), 0, NoRoom},
		{"it does with a limit", "900", "fit", advised("", 0), def, def, fitted(512, 100), 0, "900 386MiB"},
		{"or with one of its own", "900", "", advised("", 0), goruntime.GCSettings{Percent: 100, Limit: 300 * mib}, goruntime.GCSettings{Percent: 100, Limit: 300 * mib}, fitted(512, 100), 0, "900 300MiB"},
		{"but not with one above the container", "900", "", advised("", 0), goruntime.GCSettings{Percent: 100, Limit: 600 * mib}, goruntime.GCSettings{Percent: 100, Limit: 600 * mib}, fitted(512, 100), 0, NoRoom},
		{"off needs a limit", "off", "", advised("", 0), def, def, fitted(512, 100), 0, NoLimit},
		{"off with a limit", "off", "fit", advised("", 0), def, def, fitted(512, 100), 0, "off 386MiB"},
		{"off with a limit of its own", "off", "", advised("", 0), goruntime.GCSettings{Percent: 100, Limit: 300 * mib}, goruntime.GCSettings{Percent: 100, Limit: 300 * mib}, fitted(512, 100), 0, "off 300MiB"},
		{"off with one above the container", "off", "", advised("", 0), goruntime.GCSettings{Percent: 100, Limit: 600 * mib}, goruntime.GCSettings{Percent: 100, Limit: 600 * mib}, fitted(512, 100), 0, NoRoom},
		{"fit without a limit", "200", "fit", advised("", 0), def, def, nil, 0, NoLimit},
		{"a size without a limit", "", "300MiB", advised("", 0), def, def, nil, 0, "100 300MiB"},
		{"more than the node has", "", "3000MiB", advised("", 0), def, def, nil, 0, "100 3000MiB"}, // GOGC bounds it
		{"more than the node has, by GOGC=off", "off", "3000MiB", advised("", 0), def, def, nil, 0, NoRoom},
		{"GOGC more than the node has", "9000", "", advised("", 0), def, def, nil, 0, NoRoom},
		{"a size above what fits", "", "500MiB", advised("", 0), def, def, fitted(512, 100), 0, "100 386MiB"},
		{"a size below what it needs", "", "45MiB", advised("", 0), def, def, fitted(512, 100), 0, NoRoom},
		{"no limit helps", "", "fit", advised("", 0), def, def, fitted(512, 440), 0, NoRoom},
		{"fewer outside, by little", "", "fit", advised("", 0), def, goruntime.GCSettings{Percent: 100, Limit: 386 * mib}, fitted(512, 70), 512, "100 386MiB"},
		{"fewer outside", "", "fit", advised("", 0), def, goruntime.GCSettings{Percent: 100, Limit: 386 * mib}, fitted(512, 50), 512, "100 436MiB"},
		{"more outside, by little", "", "fit", advised("", 0), def, goruntime.GCSettings{Percent: 100, Limit: 386 * mib}, fitted(512, 110), 512, "100 386MiB"},
		{"more outside", "", "fit", advised("", 0), def, goruntime.GCSettings{Percent: 100, Limit: 386 * mib}, fitted(512, 115), 512, "100 371MiB"},
		{"a larger container", "", "fit", advised("", 0), def, goruntime.GCSettings{Percent: 100, Limit: 386 * mib}, fitted(520, 100), 512, "100 394MiB"},
		{"a smaller rule", "", "380MiB", advised("", 0), def, goruntime.GCSettings{Percent: 100, Limit: 386 * mib}, fitted(512, 100), 512, "100 380MiB"},
		{"recommended", "recommended", "recommended", advised("250", 300*mib), def, def, fitted(512, 100), 0, "250 300MiB"},
		{"recommended, above what fits", "recommended", "recommended", advised("250", 500*mib), def, def, fitted(512, 100), 0, "250 386MiB"},
		{"nothing is recommended", "recommended", "recommended", advised("", 0), def, def, fitted(512, 100), 0, "100 off"},
		{"nonsense is recommended", "recommended", "", advised("much", 0), def, def, fitted(512, 100), 0, NoAdvice},
		{"a limit without a number is recommended", "", "recommended", advised("", math.Inf(1)), def, def, fitted(512, 100), 0, NoAdvice},
	} {
		terms := &terms{rule: Rule{GOGC: c.gogc, MemoryLimit: c.limit}, advised: c.advised, before: c.before, now: c.now, own: runtimeOf(60, 40), fit: c.fit, kept: c.kept * mib,
			spare: 1000 * mib, headroom: 0.1}
		change, refused := terms.change()
		got := ""
		if after := change.Of(c.before); refused != nil {
			got = refused.reason
		} else {
			got = livegc.GOGC(after.Percent) + " " + livegc.GOMEMLIMIT(after.Limit)
		}
		if got != c.want || refused != nil && refused.text == "" {
			t.Errorf("%s: %s, %+v; want %s", c.name, got, refused, c.want)
		}
	}
}

// Whatever there is: no limit is set above what the container leaves, and GOGC is not off
// without one.
func TestTermsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint64Range(0, 1<<40)
		c := memlimit.Container{Limit: size.Draw(t, "limit"), Fixed: new(size.Draw(t, "fixed"))}
		own := memlimit.Runtime{Resident: size.Draw(t, "resident"), Live: size.Draw(t, "live"), Needs: size.Draw(t, "needs")}
		fit := c.Fit(own, 0)
		settings := func(name string) goruntime.GCSettings {
			s := goruntime.GCSettings{Percent: rapid.Int32Range(0, 1000).Draw(t, name+" GOGC"), Limit: math.MaxInt64}
			if rapid.Bool().Draw(t, name+" limited") {
				s.Limit = int64(size.Draw(t, name+" limit"))
			}
			return s
		}
		terms := &terms{
			rule: Rule{
				GOGC:        rapid.SampledFrom([]string{"", "0", "100", "1000", "off", Recommended}).Draw(t, "gogc"),
				MemoryLimit: rapid.SampledFrom([]string{"", "1GiB", "1TiB", Fit, Recommended}).Draw(t, "memoryLimit"),
			},
			advised: recommend.Setting{GOGC: rapid.SampledFrom([]string{"", "100", "off"}).Draw(t, "advised"), GOMEMLIMIT: new(rapid.Float64().Draw(t, "advised limit"))},
			before:  settings("before"), now: settings("now"), own: own, fit: &fit, kept: c.Limit, spare: size.Draw(t, "spare"), headroom: .1,
		}
		change, no := terms.change()
		if no != nil {
			return
		}
		if change.Limit != nil && (fit.Breaks(uint64(*change.Limit)) || *change.Limit <= 0) {
			t.Errorf("a limit of %d in %+v", *change.Limit, fit)
		}
		if after := change.Of(terms.before); after.Percent < 0 && (after.Limit == math.MaxInt64 || fit.Breaks(uint64(after.Limit))) {
			t.Errorf("GOGC=off with a limit of %d in %+v", after.Limit, fit)
		}
	})
}

func TestRecommendations(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 9, 10, 0, 0, 0, 0, time.UTC)
	id := ranking.ID{Namespace: "shop", Workload: "api", Kind: "Deployment", Container: "main"}
	write := func(name string, id ranking.ID, age time.Duration, sure recommend.Confidence, gogc string) {
		t.Helper()
		a := recommend.Advice{To: now.Add(-age), Confidence: sure, Advised: recommend.Setting{GOGC: gogc}}
		data, err := json.Marshal(struct { // as folio-fleet recommend --json
			Workload ranking.ID `json:"workload"`
			*recommend.Advice
		}{id, &a})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	other := id
	other.Kind = "StatefulSet"
	write("a.json", id, 8*24*time.Hour, recommend.High, "200")
	write("b.json", other, 0, recommend.High, "300")
	write("c.txt", id, 0, recommend.High, "400")
	r := &recommendations{dir: dir}
	if errs := r.read(); len(errs) != 0 {
		t.Error(errs)
	}
	expect := func(gogc, why string) {
		t.Helper()
		if s, text := r.of(id, now); s.GOGC != gogc || !strings.Contains(text, why) || (why == "") != (text == "") {
			t.Errorf("GOGC=%s, %q; want %s, %q", s.GOGC, text, gogc, why)
		}
	}
	expect("", "is of 2026-09-02: it holds for a week")
	write("d.json", id, time.Hour, recommend.Medium, "250")
	write("e.json", id, time.Minute, recommend.Low, "500")
	for name, text := range map[string]string{"f.json": "{", "g.json": "{}", "h.json": strings.Repeat(" ", mostAdviceBytes+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if errs := r.read(); len(errs) != 3 {
		t.Error(errs)
	}
	if errs := r.read(); len(errs) != 0 {
		t.Errorf("said again: %v", errs)
	}
	expect("", "has low confidence")
	if err := os.Remove(filepath.Join(dir, "e.json")); err != nil {
		t.Fatal(err)
	}
	_ = r.read()
	expect("250", "")
	id.Container = "proxy"
	expect("", "there is no recommendation for shop/api:proxy")
}
