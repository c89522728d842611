package saved

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for _, c := range []struct{ data, fault string }{
		{`{"schema":"folio/1","kind":"run","arms":[]}`, ""},
		{`{"schema":"folio/1","kind":"tune"}`, ""},
		{`{"schema":"folio/1","kind":"lab"}`, ""},
		{`{"schema":"folio-doctor/1","kind":"doctor"}`, ""},
		{`{"schema":"folio-inspect/1","kind":"list","processes":[]}`, ""},
		{``, "x.json: not a result of folio: it ends too early"},
		{`{"schema":"folio/1","kind":"run","arms":[{`, "it ends too early: was it copied while it was written?"},
		{`{"schema":"folio/1",}`, "x.json: not a result of folio: byte 21"},
		{`{"schema":"folio/1","kind":"run","arms":[{"samples":[{"round":"one"}]}]}`, "x.json: damaged"},
		{`{"schema":"folio/1","kind":"run","arms":[{"name":"a","samples":[null]}]}`, `x.json: damaged: arm "a" has a sample that is null`},
		{`{"schema":"folio/1","kind":"lab","experiments":[{"arms":[{"name":"a","samples":[null]}]}]}`, `x.json: damaged: arm "a" has a sample that is null`},
		{`{"schema":"folio-inspect/1","kind":"process"}`, "neither process nor processes"},
		{`{"schema":"folio/2","kind":"run"}`, "x.json: schema folio/2, kind run: this folio does not know it"},
		{`{"schema":"folio/1","kind":"sing"}`, "x.json: schema folio/1, kind sing: this folio does not know it"},
		{`{"results":[]}`, "x.json: not a result of folio: it names no schema"},
		{`{"schema":"other"}`, `x.json: not a result of folio: schema "other"`},
		{`[1]`, "x.json: not a result of folio"},
	} {
		r, err := Read("x.json", []byte(c.data))
		switch {
		case c.fault == "" && (err != nil || r.Samples() != 0):
			t.Errorf("%s: %v", c.data, err)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s: %v, want %q", c.data, err, c.fault)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema":"folio/1","kind":"run","arms":[{"name":"default","samples":[{"round":1,"wall_seconds":1.5,"peak_rss_bytes":null,"metrics":{"x":1}}],"summary":{"wall_seconds":{"n":1,"median":1.5},"cpu_seconds":null,"metrics":{}}}]}`))
	f.Add([]byte(`{"schema":"folio/1","kind":"lab","experiments":[{"name":"pages","arms":[{"samples":[{}],"points":[{"size_bytes":4096,"figures":{"latency_seconds":{"median":1}}}]}]}]}`))
	f.Add([]byte(`{"schema":"folio-inspect/1","kind":"process","process":{"pid":1,"windows":{"density":[1,2,3]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read("x", data)
		if (r == nil) == (err == nil) && err == nil {
			t.Fatal("neither a result nor an error")
		}
		if err == nil && r.Samples() < 0 {
			t.Fatal("less than no samples")
		}
	})
}
