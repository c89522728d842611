package text

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/suggest"
)

func TestSuggestText(t *testing.T) {
	site := suggest.Site{Func: "main.parse", File: "/src/parse.go", Line: 7, AllocBytes: 64 << 20, AllocObjects: 1 << 20}
	other := suggest.Site{Func: "main.name", File: "/src/name.go", Line: 9}
	for name, tt := range map[string]struct {
		a    *suggest.Advice
		want []string
		not  string
	}{
		"gain": {&suggest.Advice{
			Cost: suggest.Cost{Wall: 2, CPU: 4, GC: 1, Allocation: 0.5}, Total: site,
			Suggestions: []suggest.Suggestion{{Site: site, Share: 0.8, Kept: 0.01, Life: 0.02, GC: 0.2, Low: 0.1,
				High: 0.3, Samples: 100, Source: "\tx", Sketch: "y"}},
			Others: []suggest.Other{{Site: other, Share: 0.1, Why: "because"}},
		}, []string{
			"parse.go:7: 10.0% to 30.0% of the CPU time would be saved if main.parse took this from an arena, by estimate.\n",
			"  32.00MiB/s, 524,288 objects/s, 64.00B each; 80.0% of all bytes ± 20%; 1.0% of it was in use at the end: it lives for about 20.00ms; it causes 20.0% of the CPU time in the GC; an arena would save 10.0% to 30.0%. 4.000s of CPU time: the GC 25.0%, allocation 12.5%.\n",
			"  In place of: x\n", "  Try:\n    y\n", "  64.00MiB in 1,048,576 objects were allocated.\n", "main.name   because\n", "\nnote 1: note\n",
		}, "Nothing to gain"},
		"unknown": {&suggest.Advice{
			Cost: suggest.Unknown(), Total: site,
			Suggestions: []suggest.Suggestion{{Site: site, Life: math.NaN(), GC: math.NaN(), Low: math.NaN(),
				High: math.NaN(), Samples: math.NaN()}},
		}, []string{"What the GC costs is not known", "; nothing of it was in use at the end."}, "NaN"},
		"nothing": {&suggest.Advice{Cost: suggest.Unknown(), Nothing: "it is so"}, []string{"Nothing to gain by an arena: it is so.\n"}, "How"},
	} {
		var b strings.Builder
		file := suggestFile(tt.a, "note")
		if err := show(&b, file, Options{Full: true}); err != nil {
			t.Fatal(err)
		}
		var again strings.Builder
		if err := show(&again, savedAgain(t, file), Options{Full: true}); err != nil || again.String() != b.String() {
			t.Errorf("%s: the saved advice has another text, %v:\n%s", name, err, again.String())
		}
		for _, w := range tt.want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s: lacks %q:\n%s", name, w, b.String())
			}
		}
		if strings.Contains(b.String(), tt.not) {
			t.Errorf("%s: has %q:\n%s", name, tt.not, b.String())
		}
	}
}

// What is not known is null in the file, and never NaN, which JSON does not have.
func TestSuggestJSON(t *testing.T) {
	site := suggest.Site{Func: "main.parse", File: "/src/parse.go", Line: 7, AllocBytes: 64 << 20,
		AllocObjects: 1 << 20, InuseBytes: 4096, InuseObjects: 64}
	inside := suggest.Site{Func: "main.name", File: "/src/name.go", Line: 9, Inside: "fmt.Sprint"}
	known := &suggest.Advice{
		Cost: suggest.Cost{Wall: 2, CPU: 4, GC: 1, Allocation: 0.5}, Total: site,
		Suggestions: []suggest.Suggestion{{Site: site, Share: 0.8, Objects: 0.9, Kept: 0.01, Life: 0.02, GC: 0.2,
			Low: 0.1, High: 0.3, Samples: 100, Source: "\tx", Sketch: "y"}},
		Others: []suggest.Other{{Site: inside, Share: 0.1, Why: "because"}},
	}
	unknown := &suggest.Advice{
		Cost: suggest.Unknown(), Total: site, Nothing: "it is so",
		Suggestions: []suggest.Suggestion{{Site: site, Life: math.NaN(), GC: math.NaN(), Low: math.NaN(), High: math.NaN(), Samples: math.NaN()}},
	}
	for name, a := range map[string]*suggest.Advice{"known": known, "unknown": unknown} {
		f := suggestFile(a, "a note")
		f.Folio, f.Host = "v0.0.0", testHost()
		data, err := f.JSON()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "suggest-"+name+".json", data)
	}
}

// A profile is somebody else's: what its names would have a terminal do is not done.
func TestSuggestTextIsSafe(t *testing.T) {
	const evil = "\x1b[2J\a\n\u202e"
	site := suggest.Site{Func: evil, File: evil, Line: 7, AllocBytes: 1, AllocObjects: 1}
	var b strings.Builder
	a := &suggest.Advice{Cost: suggest.Unknown(), Total: site,
		Suggestions: []suggest.Suggestion{{Site: site, Source: "a" + evil, Sketch: evil}}, Others: []suggest.Other{{Site: site, Why: evil}}}
	f := suggestFile(a)
	f.Command = []string{evil}
	if err := show(&b, f, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexAny(b.String(), "\x1b\a\u202e"); i >= 0 {
		t.Errorf("%q", b.String()[i:])
	}
	if !strings.Contains(b.String(), `\x1b[2J`) {
		t.Error("the names are not there")
	}
}

func suggestFile(a *suggest.Advice, notes ...string) *result.Suggest {
	f := result.NewSuggest("", a, notes)
	f.Created = time.Time{}
	return f
}
