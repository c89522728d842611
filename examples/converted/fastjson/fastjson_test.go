package fastjson

import "testing"

const document = `{"name": "folio", "list": ["a", "long\n", "bcd"], "deep": {"x": [1, 2.5, null, true]}, "e": "\u00e9"}`

func TestParser(t *testing.T) {
	p := NewParser()
	defer p.Close()
	for range 3 {
		v, err := p.Parse(document)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.String(); got != `{"name":"folio","list":["a","long\n","bcd"],"deep":{"x":[1,2.5,null,true]},"e":"\u00e9"}` {
			t.Error(got)
		}
		if v.Get("deep", "x", "1").String() != "2.5" || v.Get("e").Type() != TypeString ||
			v.Get("e").String() != `"é"` || v.Get("nosuch") != nil {
			t.Error(v)
		}
	}
	if _, err := p.Parse(`{"x": [1, 2}`); err == nil {
		t.Error("no error")
	}
	if s, err := Field(document, "list", "2"); err != nil || s != `"bcd"` {
		t.Error(s, err)
	}
	if n, err := Count([]string{"1", "{}", "2"}); err != nil || n[TypeNumber] != 2 || n[TypeObject] != 1 {
		t.Error(n, err)
	}
	if s, err := Longest(`["a", "long\n", "bcd"]`); err != nil || s != `"long\n"` {
		t.Error(s, err)
	}
}
