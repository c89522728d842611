package profile

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/internal/system/perf"
)

// paths are the call paths of a tree with their own time.
func paths(t *Tree) map[string]float64 {
	out := make(map[string]float64)
	for i, n := range t.Self.Nodes {
		var names []string
		for at := n; at >= 0; at = t.Parents[at] {
			names = append(names, fmt.Sprintf("%s:%d", t.Functions[t.Calls[at]].Name, t.Lines[at]))
		}
		slices.Reverse(names)
		out[strings.Join(names, ";")+" "+string(t.Self.Classes[i])] += t.Self.Values[i]
	}
	return out
}

// Call paths are from the first call to the last, of CPU time alone, with the class that
// the result has it under.
func TestTree(t *testing.T) {
	c, h := fakeCollector(nil, Options{})
	for range 3 {
		h.Sample(sampleOf(1, mallocAt+1, workAt+7, mainAt+9))
	}
	h.Sample(sampleOf(1, workAt+8, mainAt+9))
	h.Sample(&perf.Sample{PID: 1, Kind: perf.Fault, Period: 1, User: []uint64{0x10000 + workAt}})
	r := c.Result(Accounts{User: 4})
	all := NewStacks()
	all.Merge(c.Stacks())
	all.Merge(nil)
	all.Merge(c.Stacks())
	tree := all.Tree()
	if !tree.Valid() || tree.Runs != 2 {
		t.Fatalf("%+v", tree)
	}
	got := paths(tree)
	if len(got) != 2 {
		t.Fatalf("%v", got)
	}
	for path, seconds := range got {
		want, class := 3.0, Allocation
		if strings.HasSuffix(path, string(Program)) {
			want, class = 1, Program
		}
		if math.Abs(seconds-want) > 1e-9 || math.Abs(r.Share(class).Seconds-want) > 1e-9 {
			t.Errorf("%s: %v s, %v s of its class, want %v", path, seconds, r.Share(class).Seconds, want)
		}
		if !strings.HasPrefix(path, "main.main:") {
			t.Errorf("%s does not begin with main", path)
		}
	}
	for i, f := range tree.Functions { // main calls all, and itself nothing twice
		if f.Name == "main.main" && (math.Abs(tree.Totals[i].Value-4) > 1e-9 || math.Abs(tree.Totals[i].Memory-3) > 1e-9) {
			t.Errorf("main spent %+v", tree.Totals[i])
		}
	}
	if NewStacks().Tree() != nil {
		t.Error("a tree of nothing")
	}
}

// However much is pruned, no time is lost, no class changes, and what is kept has its
// time and that of its calls. Runs together are their mean.
func TestTreeKeepsTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, want := NewStacks(), make(map[Class]float64)
		runs := rapid.IntRange(1, 3).Draw(t, "runs")
		for range runs {
			one := NewStacks()
			one.runs = 1
			for range rapid.IntRange(1, 20).Draw(t, "stacks") {
				var path []Frame
				for range rapid.IntRange(0, 6).Draw(t, "depth") {
					path = append(path, Frame{Function{Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")}, rapid.IntRange(0, 2).Draw(t, "line")})
				}
				class, seconds := rapid.SampledFrom(Classes).Draw(t, "class").Class, float64(rapid.IntRange(1, 1000).Draw(t, "ms"))/1000
				one.Add(path, class, seconds)
				want[class] += seconds / float64(runs)
			}
			all.Merge(one)
		}
		whole := all.tree(0, math.MaxInt)
		for _, tree := range []*Tree{whole, all.tree(rapid.Float64Range(0, 1).Draw(t, "least"), rapid.IntRange(0, 30).Draw(t, "most"))} {
			if !tree.Valid() || tree.Runs != runs {
				t.Fatalf("%+v", tree)
			}
			got := make(map[Class]float64)
			for i, class := range tree.Self.Classes {
				got[class] += tree.Self.Values[i]
			}
			for class, seconds := range want {
				if math.Abs(got[class]-seconds) > 1e-9 {
					t.Fatalf("%s: %v s in the tree, want %v", class, got[class], seconds)
				}
			}
			// What a function spent is that of the whole tree, however little of it is kept.
			for i, f := range tree.Functions {
				if at := slices.Index(whole.Functions, f); at >= 0 && math.Abs(tree.Totals[i].Value-whole.Totals[at].Value) > 1e-9 {
					t.Fatalf("%s spent %v, want %v", f.Name, tree.Totals[i].Value, whole.Totals[at].Value)
				}
			}
			if tree.Pruned < 0 || tree.Pruned > tree.Total()+1e-9 || tree == whole && tree.Pruned > 0 {
				t.Fatalf("%v s of %v are pruned", tree.Pruned, tree.Total())
			}
		}
	})
}

// A file of anybody's is looked at before a page follows its numbers.
func TestTreeValid(t *testing.T) {
	good := func() *Tree {
		return &Tree{Runs: 1, Functions: []Function{{Name: "a"}}, Totals: []Total{{Value: 1, Memory: 1}}, Parents: []int{-1, 0}, Calls: []int{0, 0}, Lines: []int{0, 3},
			Self: Self{Nodes: []int{1}, Classes: []Class{GCMark}, Values: []float64{1}}}
	}
	if !good().Valid() {
		t.Fatal("a tree is none")
	}
	for name, damage := range map[string]func(*Tree){
		"no run": func(t *Tree) { t.Runs = 0 }, "parent after": func(t *Tree) { t.Parents[0] = 1 }, "own parent": func(t *Tree) { t.Parents[1] = 1 },
		"no such function": func(t *Tree) { t.Calls[0] = 1 }, "before the first": func(t *Tree) { t.Parents[0] = -2 },
		"lines": func(t *Tree) { t.Lines = t.Lines[:1] }, "no such node": func(t *Tree) { t.Self.Nodes[0] = 2 },
		"time": func(t *Tree) { t.Self.Values[0] = math.NaN() }, "negative": func(t *Tree) { t.Self.Values[0] = -1 },
		"totals": func(t *Tree) { t.Totals = nil }, "more memory than all": func(t *Tree) { t.Totals[0].Memory = 2 },
		"classes": func(t *Tree) { t.Self.Classes = nil },
	} {
		tree := good()
		if damage(tree); tree.Valid() {
			t.Errorf("%s: taken", name)
		}
	}
}
