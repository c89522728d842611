package inspect

import (
	"fmt"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/program/callsite"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// TestLiveSites: what is in use is added up by line, that of the runtime itself in one; what
// was freed is nobody's.
func TestLiveSites(t *testing.T) {
	fn := func(name string) *profile.Function {
		return &profile.Function{Name: name, Filename: "/src/" + name + ".go"}
	}
	a, b := fn("main.a"), fn("main.b")
	sample := func(f *profile.Function, line, objects, bytes int64) *profile.Sample {
		return &profile.Sample{Value: []int64{9, 9, objects, bytes}, Location: []*profile.Location{{Line: []profile.Line{{Function: f, Line: line}}}}}
	}
	p := &profile.Profile{Sample: []*profile.Sample{
		sample(a, 3, 1, 100), sample(b, 7, 2, 500), sample(a, 3, 1, 50), sample(a, 4, 1, 60), sample(b, 9, 0, 0), sample(b, 9, 1, -5),
		{Value: []int64{1}}, {Value: []int64{1, 1, 1, 1}}, sample(fn("runtime.malg"), 1, 3, 300), sample(fn("runtime.addHeap"), 1, 1, 30),
	}}
	if got := fmt.Sprint(liveSites(p)); got != "[{main.b (main.b.go:7) 2 500} {runtime 4 330} {main.a (main.a.go:3) 2 150} {main.a (main.a.go:4) 1 60} {unknown 1 1}]" {
		t.Error(got)
	}
	if got := liveSites(&profile.Profile{}); got == nil || len(got) != 0 {
		t.Error(got)
	}
}

// TestCreators: the stacks of goroutines are all but the least that the others have.
func TestCreators(t *testing.T) {
	group := func(name string, count int) callsite.GoroutineGroup {
		return callsite.GoroutineGroup{Count: count, Created: symbol.Frame{Func: name, File: "/src/a.go", Line: 1}}
	}
	g := &callsite.Goroutines{Total: 110, Groups: []callsite.GoroutineGroup{group("main.a", 60), group("main.b", 30), group("main.a", 10), group("", 1)}}
	if got := fmt.Sprint(creators(g, 500<<10)); got != fmt.Sprintf("[{main.a (a.go:1) 70 %d} {main.b (a.go:1) 30 %d}]", 420<<10, 340<<10) {
		t.Error(got)
	}
	if got := fmt.Sprint(creators(g, 10)); got != "[{main.a (a.go:1) 70 0} {main.b (a.go:1) 30 0}]" {
		t.Error(got)
	}
}
