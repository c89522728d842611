package html

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/text"
)

const marker = "/home/MARKER/x"

// plant calls f with every text that v reaches, and the name of its field.
func plant(v reflect.Value, field string, f func(reflect.Value, string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			plant(v.Elem(), field, f)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			plant(v.Index(i), field, f)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			to := reflect.New(v.Type().Elem()).Elem()
			to.Set(v.MapIndex(k))
			plant(to, field, f)
			v.SetMapIndex(k, to)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if x := v.Type().Field(i); x.IsExported() && x.Tag.Get("json") != "-" {
				plant(v.Field(i), v.Type().String()+"."+x.Name, f)
			}
		}
	case reflect.String:
		f(v, field)
	}
}

// textOf is what folio report prints.
func textOf(t *testing.T, r *result.Result) string {
	t.Helper()
	var b bytes.Buffer
	err := text.Render(&b, document.Text(r.Of), text.Options{Full: true})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Neither page nor text of a redacted result has a marker that was in each of its texts
// which do not stay by their kind; both say that they are redacted.
func TestRedactedPages(t *testing.T) {
	for name, file := range map[string]any{"tune": resulttest.Tune(8, "./prog", "-n", "5"), "run": resulttest.Run(6), "lab": resulttest.Lab(), "ab": resulttest.AB(),
		"inspect": resulttest.Inspect(inspect.GoHeap, "prog"), "list": resulttest.List("prog"), "doctor": resulttest.Doctor("prog"), "suggest": resulttest.Suggest("prog"), "charge": resulttest.Charge("prog")} {
		stays := make(map[string]bool)
		trial := resulttest.Read(t, name, file)
		plant(reflect.ValueOf(trial.Of), "", func(v reflect.Value, _ string) { v.SetString(v.String() + " " + marker) })
		if err := trial.Redact(); err != nil {
			t.Fatal(err)
		}
		plant(reflect.ValueOf(trial.Of), "", func(v reflect.Value, field string) {
			if strings.Contains(v.String(), "MARKER") {
				stays[field] = true
			}
		})
		r := resulttest.Read(t, "/home/MARKER/"+name+".json", file)
		n := 0
		plant(reflect.ValueOf(r.Of), "", func(v reflect.Value, field string) {
			if !stays[field] && v.String() != "" {
				v.SetString(v.String() + " " + marker)
				n++
			}
		})
		page := func() string {
			p := document.New(r)
			for _, s := range p.Sections { // what is packed is looked at by itself
				if s.Raw != nil {
					s.About = append(s.About, string(s.Raw.JSON), s.Raw.File)
				}
			}
			out, err := Render(p)
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		if before := page() + textOf(t, r); n < 3 || !strings.Contains(before, "MARKER") {
			t.Fatalf("%s: %d texts have a marker, and none is shown", name, n)
		}
		if err := r.Redact(); err != nil {
			t.Fatal(err)
		}
		for what, shown := range map[string]string{"page": page(), "text": textOf(t, r)} {
			if at := strings.Index(shown, "MARKER"); at >= 0 {
				t.Errorf("%s: the %s has a marker: %.200s", name, what, shown[max(0, at-100):])
			}
			if !strings.Contains(shown, result.RedactedText) {
				t.Errorf("%s: the %s does not say that it is redacted", name, what)
			}
		}
		t.Logf("%s: %d texts", name, n)
	}
}
