package result

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
		{`{"schema":"folio-suggest/1","kind":"suggest"}`, ""},
		{`{"schema":"folio-inspect/1","kind":"list","processes":[]}`, ""},
		{``, "x.json: not a result of folio: it is empty"},
		{" \n", "it is empty"},
		{"<!DOCTYPE html>\n<html>", "x.json: not a result of folio: it is a page"},
		{`{"schema":"folio-inspect/1"}` + "\n" + `{"schema":"folio-inspect/1"}` + "\n", "more than one result"},
		{`{"schema":"folio-inspect/1"}x`, "byte 29: invalid character 'x'"},
		{"\x1f\x8b\x08\x00", "x.json: not a result of folio: it is not JSON: want a file that --json wrote"},
		{`{"schema":"folio/1","kind":7}`, "byte 28: kind cannot be a JSON number"},
		{`{"schema":"folio/1","kind":"\u001b[2J"}`, `kind "\x1b[2J": this folio does not know it`},
		{`{"schema":"folio/1","kind":"run","arms":[{`, "it ends too early: was it copied while it was written?"},
		{`{"schema":"folio/1",}`, "x.json: not a result of folio: byte 21"},
		{`{"schema":"folio/1","kind":"run","arms":[{"samples":[{"round":"one"}]}]}`,
			"x.json: damaged: byte 67: arms.samples.round cannot be a JSON string"},
		{`{"schema":"folio/1","kind":"run","arms":[{"name":"a","samples":[null]}]}`, `x.json: damaged: arm "a" has a sample that is null`},
		{`{"schema":"folio/1","kind":"lab","experiments":[{"arms":[{"name":"a","samples":[null]}]}]}`,
			`x.json: damaged: arm "a" has a sample that is null`},
		{`{"schema":"folio-inspect/1","kind":"process"}`, "neither process nor processes"},
		{`{"schema":"folio/2","kind":"run"}`, `x.json: schema "folio/2", kind "run": this folio does not know it`},
		{`{"schema":"folio/1","kind":"sing"}`, `x.json: schema "folio/1", kind "sing": this folio does not know it`},
		{`{"results":[]}`, "x.json: not a result of folio: it names no schema"},
		{`{"schema":"other"}`, `x.json: not a result of folio: schema "other"`},
		{`[1]`, "x.json: not a result of folio"},
	} {
		r, err := Read("x.json", []byte(c.data))
		switch {
		case c.fault == "" && (err != nil || r.Samples() != 0):
			t.Errorf("%s: %v", c.data, err)
		case c.fault != "" && (err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), ".0.", "."),
			c.fault)): // since Go 1.27 with indexes
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
		if (r == nil) == (err == nil) {
			t.Fatalf("result %v, error %v", r, err)
		}
		if err == nil && r.Samples() < 0 {
			t.Fatal("less than no samples")
		}
	})
}
