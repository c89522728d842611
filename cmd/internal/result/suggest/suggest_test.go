package suggest

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/program/callsite"
)

// A sampled is a stack, innermost first, with its values.
type sampled struct {
	stack  []string
	values []int64 // objects, bytes, objects in use, bytes in use
}

const mib = 1 << 20

// profileOf writes a profile. Line numbers are the lengths of the names.
func profileOf(t testing.TB, types []string, samples ...sampled) []byte {
	t.Helper()
	p := &profile.Profile{PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, Period: 512 << 10}
	for _, c := range types {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: c, Unit: "count"})
	}
	for _, s := range samples {
		sample := &profile.Sample{Value: s.values}
		for _, name := range s.stack {
			fn := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, Filename: "/src/" + name + ".go"}
			loc := &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{{Function: fn, Line: int64(len(name))}}}
			p.Function, p.Location = append(p.Function, fn), append(p.Location, loc)
			sample.Location = append(sample.Location, loc)
		}
		p.Sample = append(p.Sample, sample)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(t *testing.T, samples ...sampled) *Profile {
	t.Helper()
	p, err := Read(bytes.NewReader(profileOf(t, columns[:], samples...)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRead(t *testing.T) {
	p := read(t,
		sampled{[]string{"main.parse", "main.main"}, []int64{100, 10 * mib, 1, mib}},
		sampled{[]string{"runtime.growslice", "main.parse", "main.other"}, []int64{50, 5 * mib, 0, 0}},
		sampled{[]string{"strings.(*Builder).grow", "fmt.Sprint", "example.com/x/y.(*T).name", "main.main"}, []int64{10, 20 * mib, 0, 0}},
		sampled{[]string{"bytes.growSlice", "net/http.(*conn).serve"}, []int64{10, mib, 0, 0}},
		sampled{[]string{"runtime.malg", "runtime.newproc"}, []int64{1, mib, 1, mib}},
	)
	var got []string
	for _, s := range p.Sites {
		got = append(got, s.Func+"|"+s.Inside+"|"+s.Place())
	}
	want := []string{
		"example.com/x/y.(*T).name|fmt.Sprint|y.(*T).name.go:25",
		"main.parse||main.parse.go:10",
		"bytes.growSlice|bytes.growSlice|bytes.growSlice.go:15",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if s := p.Sites[1]; s.AllocObjects != 150 || s.AllocBytes != 15*mib || s.InuseBytes != mib {
		t.Errorf("%+v", s)
	}
	// The call paths have the same bytes, from main on.
	tree := p.Tree
	inUse := 0.0
	for i, class := range tree.Self.Classes {
		if class == InUse {
			inUse += tree.Self.Values[i]
		}
	}
	if !tree.Valid() || tree.Unit != "bytes" || tree.Total() != 36*mib || inUse != mib || tree.Functions[tree.Calls[0]].Name != "main.main" {
		t.Errorf("%v bytes, %v in use: %+v", tree.Total(), inUse, tree)
	}
	if p.Total.AllocBytes != 36*mib || p.Rate != 512<<10 {
		t.Errorf("%+v, rate %d", p.Total, p.Rate)
	}
}

func TestReadRefuses(t *testing.T) {
	if _, err := Read(strings.NewReader("no profile")); err == nil {
		t.Error("no profile: no error")
	}
	_, err := Read(bytes.NewReader(profileOf(t, []string{"samples", "cpu"}, sampled{[]string{"main.main"}, []int64{1, 2}})))
	if !errors.Is(err, ErrNotAllocations) {
		t.Errorf("a CPU profile: %v", err)
	}
}

func TestStandard(t *testing.T) {
	for name, want := range map[string]bool{
		"fmt.Sprint": true, "runtime.mallocgc": true, "encoding/json.(*decodeState).object": true, "internal/poll.(*FD).Read": true,
		"slices.Grow[go.shape.*example.com/x.T]": true, "main.main": false, "example.com/fmt.Sprint": false, "example.com/x.f[int]": false,
		"mymodule/parser.parse": false, "parser.parse": false, "main.f[go.shape.struct { fmt.X }]": false,
	} {
		if got := callsite.Standard(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestSuggest(t *testing.T) {
	p := read(t,
		sampled{[]string{"main.node"}, []int64{750, 60 * mib, 0, 0}},
		sampled{[]string{"main.cache"}, []int64{50, 20 * mib, 40, 15 * mib}},
		sampled{[]string{"fmt.Sprint", "main.name"}, []int64{190, 19 * mib, 0, 0}},
		sampled{[]string{"main.rare"}, []int64{10, mib / 2, 0, 0}},
		sampled{[]string{"main.rarer"}, []int64{0, mib / 2, 0, 0}},
	)
	lines := func(file string, line int64) string {
		if strings.Contains(file, "node") {
			return "\tn := &Node{x: 1}"
		}
		return ""
	}
	a := Suggest(p, Cost{Wall: 2, CPU: 4, GC: 1, Allocation: 0.4}, lines)
	if len(a.Suggestions) != 1 || len(a.Others) != 2 || a.Nothing != "" {
		t.Fatalf("%+v", a)
	}
	s := a.Suggestions[0]
	if s.Func != "main.node" || !near(s.Share, 0.6) || !near(s.Objects, 0.75) || !near(s.GC, 0.15) ||
		!near(s.Low, 0.075) || !near(s.High, 0.15+0.9*0.1*0.75) || s.Life != 0 {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(s.Sketch, "arena.Of[Node](a)") {
		t.Error(s.Sketch)
	}
	if o := a.Others[0]; o.Func != "main.cache" || !strings.Contains(o.Why, "stays in use") {
		t.Errorf("%+v", o)
	}
	if o := a.Others[1]; o.Func != "main.name" || !strings.Contains(o.Why, "fmt.Sprint") {
		t.Errorf("%+v", o)
	}

	// Without the GC's cost, what is a part worth looking at counts.
	a = Suggest(p, Unknown(), nil)
	if len(a.Suggestions) != 1 || !math.IsNaN(a.Suggestions[0].High) || a.Suggestions[0].Sketch == "" {
		t.Errorf("%+v", a)
	}
	for want, a := range map[string]*Advice{
		"less than 2%":       Suggest(p, Cost{Wall: 2, CPU: 4, GC: 0.01, Allocation: 0.02}, nil),
		"has no allocations": Suggest(&Profile{}, Unknown(), nil),
		"is not for an arena": Suggest(read(t, sampled{[]string{"fmt.Sprint", "main.name"}, []int64{1, mib, 0, 0}}),
			Cost{2, 4, 1, math.NaN()}, nil),
		"no call site":         Suggest(many(t), Unknown(), nil),
		"nothing is suggested": {Nothing: "nothing is suggested"},
	} {
		if len(a.Suggestions) > 0 || !strings.Contains(a.Nothing, want) {
			t.Errorf("want %q: %+v", want, a)
		}
	}
}

// many is a profile of many sites that each allocate little.
func many(t *testing.T) *Profile {
	var all []sampled
	for i := range 100 {
		all = append(all, sampled{[]string{"main." + strings.Repeat("f", i+1)}, []int64{1, mib, 0, 0}})
	}
	return read(t, all...)
}

func TestSketch(t *testing.T) {
	for line, want := range map[string]string{
		"return &node{build(d-1), nil}":    "arena.Of[node](a)",
		"x := &pkg.Node{}":                 "arena.Of[pkg.Node](a)",
		"n := new(Node)":                   "arena.Of[Node](a)",
		"s := make([]int, n)":              "arena.MakeSlice[int](a, n, n)",
		"s := make([]*T, 0, len(x))":       "arena.MakeSlice[*T](a, 0, len(x",
		"list = append(list, x)":           "arena.Append(a, ...)",
		"name := string(buf)":              "arena.String(a, ...)",
		"something(else)":                  "take what this line makes",
		"":                                 "take what this line makes",
		"m := make(map[string]int)":        "not: it makes a map",
		"var m = map[string]int{\"a\": 1}": "not: it makes a map",
		"c := make(chan int)":              "not: it makes a channel",
	} {
		got, not := sketch(line)
		if not != "" {
			got = "not: " + not
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(profileOf(f, columns[:], sampled{[]string{"main.parse", "main.main"}, []int64{100, 10 * mib, 1, mib}}))
	f.Add(profileOf(f, []string{"cpu"}, sampled{[]string{"main.main"}, []int64{1}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		a := Suggest(p, Cost{1, 1, 0.5, math.NaN()}, nil)
		if len(a.Suggestions) == 0 && a.Nothing == "" {
			t.Error("neither suggestions nor a reason")
		}
	})
}

func FuzzSketch(f *testing.F) {
	f.Add("n := &Node{}")
	f.Fuzz(func(t *testing.T, line string) {
		if s, not := sketch(line); (s == "") == (not == "") {
			t.Errorf("%q: %q, %q", line, s, not)
		}
	})
}
