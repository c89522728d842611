package html

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/view/document"
)

func TestABPage(t *testing.T) {
	data, err := resulttest.AB().JSON()
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Read("ab.json", data)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Samples(); n != 20 {
		t.Errorf("%d samples", n)
	}
	page, err := Render(document.New(r))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"folio ab", "HEAD against main", "wall time -50.0% [-50.0%, -50.0%], better; CPU time -50.0%",
		"the 95% interval is -50.0% to -50.0%", "main.&lt;load&gt;", "CPU time by class", "10 rounds in "} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(page), "main.<load>") {
		t.Error("a name became markup")
	}
	// Interrupted before there was anything, and beside another result.
	f := &result.AB{Header: result.Header{Schema: result.Schema, Kind: result.KindAB}, Error: "interrupted"}
	if data, err = f.JSON(); err != nil {
		t.Fatal(err)
	}
	empty, err := result.Read("empty.json", data)
	if err != nil {
		t.Fatal(err)
	}
	if page, err = Render(document.New(empty)); err != nil || !strings.Contains(string(page), "Nothing was compared.") {
		t.Error(err)
	}
	if page, err = Render(document.New(r, empty)); err != nil || !strings.Contains(string(page), "is a comparison itself") {
		t.Error(err)
	}
}
