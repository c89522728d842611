package html

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/report"
)

// damaged returns a result file of which a few values were replaced or left out:
// what a file of another version, or one that somebody edited, may be.
func damaged(t *rapid.T) []byte {
	files := []any{resulttest.Tune(1, "./prog"), resulttest.Run(1), resulttest.Lab(), resulttest.Inspect(inspect.GoHeap, "x"), resulttest.List("x"), resulttest.OverTime("x", 7),
		resulttest.Doctor("x"), resulttest.Suggest("x"), resulttest.AB(), resulttest.Charge("x"),
		json.RawMessage(`{"schema":"folio-inspect/1","kind":"process","process":{"pid":1,"name":"x","command":["x"],"memory":[{"kind":"heap","resident_bytes":5}],"windows_of":"heap","windows":{"window_bytes":2097152,"count":3,"density":[1,2,3],"coverage":0.5,"gain_bytes":5},"bloat":{"most_bytes":1},"policy":{"means":"m"},"hazards":["h"]}}`),
		json.RawMessage(`{"schema":"folio-inspect/1","kind":"list","processes":[{"pid":1,"name":"x","resident_bytes":1,"windows":null},{"pid":2,"windows":{"count":1,"gain_bytes":7}}],"unseen":{"small":3}}`),
		json.RawMessage(`{"schema":"folio-doctor/1","kind":"doctor","process":{"pid":3},"findings":[{"rule":"a","what":"b","fix":[{"do":"c","code":"d"},{"do":"e"}],"evidence":[{"from":"x","says":"y"}]}],"checks":[{"id":"a","state":"clean","why":null}]}`),
	}
	data, err := json.Marshal(rapid.SampledFrom(files).Draw(t, "file"))
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(0, 6).Draw(t, "damages") {
		damage(t, doc)
	}
	data, err = json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// damage goes down into a value at random and replaces what it finds.
func damage(t *rapid.T, v any) {
	with := func() any {
		return rapid.SampledFrom([]any{nil, 0.0, -1.0, 1e300, 1e-300, 0.5, "", "x", "off", "failed", true, []any{},
			[]any{nil}, map[string]any{}}).Draw(t, "with")
	}
	stop := func() bool { return rapid.IntRange(0, 4).Draw(t, "stop") == 0 }
	switch v := v.(type) {
	case map[string]any:
		var keys []string
		for k := range v {
			keys = append(keys, k)
		}
		if len(keys) == 0 {
			return
		}
		k := rapid.SampledFrom(slices.Sorted(slices.Values(keys))).Draw(t, "key")
		switch v[k].(type) {
		case map[string]any, []any:
			if !stop() {
				damage(t, v[k])
				return
			}
		}
		if v[k] = with(); rapid.Bool().Draw(t, "delete") {
			delete(v, k)
		}
	case []any:
		if len(v) == 0 {
			return
		}
		i := rapid.IntRange(0, len(v)-1).Draw(t, "index")
		switch v[i].(type) {
		case map[string]any, []any:
			if !stop() {
				damage(t, v[i])
				return
			}
		}
		v[i] = with()
	}
}

// Whatever is in a result file that can be read, a page can be made of it, alone
// and beside itself, and the charts' data is JSON.
func makesPage(t *rapid.T) {
	r, err := result.Read("x.json", damaged(t))
	if err != nil {
		return
	}
	for _, results := range [][]*result.Result{{r}, {r, r}} {
		page, err := Render(document.New(results...))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range charts.FindAllSubmatch(page, -1) {
			if !json.Valid(m[2]) {
				t.Fatalf("%s is not JSON", m[1])
			}
		}
		if n := bytes.Count(page, []byte("<script")); n != bytes.Count(page, []byte("</script>")) {
			t.Fatal("an element does not end where it should")
		}
	}
}

func TestDamaged(t *testing.T) { rapid.Check(t, makesPage) }
func FuzzRender(f *testing.F)  { f.Fuzz(rapid.MakeFuzz(makesPage)) }

// A file of somebody else's may recommend the default and have no answer.
func TestRecommendationWithoutAnswer(t *testing.T) {
	f := resulttest.Tune(8, "./prog")
	f.Answer, f.Recommendations[0].Arm = nil, f.Arms[0].Name
	pageOf(t, f)
	if got := report.Mark(f, &f.Arms[0]); got != ">" {
		t.Errorf("the default that is recommended is marked %q", got)
	}
}
