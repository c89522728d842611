package arenabench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// print writes a value as encoding/json does a decoded one.
func (v *value) print(b *strings.Builder) {
	switch v.kind {
	case null:
		b.WriteString("null")
	case no, yes:
		fmt.Fprint(b, v.kind == yes)
	case number:
		data, err := json.Marshal(v.number)
		if err != nil {
			panic(err)
		}
		b.Write(data)
	case text:
		data, _ := json.Marshal(v.text)
		b.Write(data)
	case array, object:
		b.WriteByte("[{"[v.kind-array])
		for e := v.first; e != nil; e = e.next {
			if e != v.first {
				b.WriteByte(',')
			}
			if v.kind == object {
				data, _ := json.Marshal(e.key)
				b.Write(data)
				b.WriteByte(':')
			}
			e.print(b)
		}
		b.WriteByte("]}"[v.kind-array])
	}
}

func TestDecode(t *testing.T) {
	for in, want := range map[string]string{
		` null `: "null", "true": "true", "false": "false", "-0.5e+1": "-5", "0": "0", "12": "12",
		`"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83dx"`: `"a\"\\/\b\f\n\r\té😀�x"`,
		`[]`: "[]", `{}`: "{}", "[ 1 , [ ] ,{\"a\" : { } } ]": `[1,[],{"a":{}}]`,
		`{"b":[null,true],"a":"x"}`: `{"b":[null,true],"a":"x"}`,
	} {
		v, err := decode(new(space), []byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		var b strings.Builder
		if v.print(&b); b.String() != want {
			t.Errorf("%s: got %s, want %s", in, &b, want)
		}
	}
	for in, want := range map[string]string{
		"": "at byte 0: unexpected end", "1 2": "something follows", "[1,]": "no value", "[,1]": "no value", "[1 2]": "want a comma",
		`{"a" 1}`: "want a colon", `{1:2}`: "want a string as key", `{"a":1,}`: "want a string as key", `{"a"`: "want a colon", `{`: "unexpected end",
		`"a`: "unexpected end", "\"\x01\"": "control character", `"\n` + "\x01\"": "control character", `"\x"`: "unknown escape",
		`"\u12g4"`: "unknown escape", `"\`: "unexpected end", `"\u12"`: "unknown escape", "nul": "no value", "-": "no value", "01": "something follows",
		"1.": "no value", "1e": "no value", strings.Repeat("[", mostNested+1): "nested too deep",
	} {
		if _, err := decode(new(space), []byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

// The decoder accepts what encoding/json accepts, and finds the same.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`[{"a":1,"b":[true,false,null,-1.5e3,"x\u00e9\\"]},"\ud83d\ude00"]`, `{"a":{}}`, "1e999", "[[", "\"\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		_, way, err := Lookup("json", "folio")
		if err != nil {
			t.Fatal(err)
		}
		s := way.open()
		defer s.close()
		v, err := decode(s, doc)
		if bytes.Count(doc, []byte("["))+bytes.Count(doc, []byte("{")) > mostNested {
			return // encoding/json goes deeper
		}
		if (err == nil) != json.Valid(doc) {
			t.Fatalf("%q: %v, but valid is %v", doc, err, err != nil)
		}
		var want any
		if err != nil || json.Unmarshal(doc, &want) != nil { // valid, but a number is too large
			return
		}
		var b strings.Builder
		v.print(&b)
		var got any
		if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
			t.Fatalf("%q became %s: %v", doc, &b, err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q became %v, want %v", doc, got, want)
		}
	})
}

// What the document is said to hold is what encoding/json finds in it.
func TestDocument(t *testing.T) {
	w := makeDocument(1 << 18)
	var list []struct {
		ID    int
		Items []struct {
			Product string
			Price   float64
		}
		Address map[string]string
		Note    *string
	}
	if err := json.Unmarshal(w.doc, &list); err != nil {
		t.Fatal(err)
	}
	values := 1
	for i, o := range list {
		if o.ID != i || o.Note != nil || len(o.Address) != 2 || len(o.Items) == 0 {
			t.Fatalf("order %d: %+v", i, o)
		}
		values += 1 + 6 + 2 + 4*len(o.Items)
	}
	if values != w.values || uint64(values)*valueBytes < 1<<18 {
		t.Errorf("%d values, said to be %d", values, w.values)
	}
}
