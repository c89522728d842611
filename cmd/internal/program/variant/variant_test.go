package variant

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestString(t *testing.T) {
	b := Build{Go: "go1.27.4", Experiments: "nogreenteagc,jsonv2", AMD64: "v3", PGO: "cpu.pprof", Patches: "heap-minimum"}
	const want = "go1.27.4 GOEXPERIMENT=nogreenteagc,jsonv2 GOAMD64=v3 pgo=cpu.pprof patch=heap-minimum"
	if got := b.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (Build{}).String(); got != "" || !(Build{}).IsZero() || b.IsZero() {
		t.Errorf("the zero Build is %q", got)
	}
}

func TestWith(t *testing.T) {
	for _, tt := range []struct {
		a, b, want Build
		conflicts  bool
	}{
		{Build{}, Build{Go: "go1.27.4"}, Build{Go: "go1.27.4"}, false},
		{Build{Go: "go1.26.8", AMD64: "v3"}, Build{Go: "go1.27.4"}, Build{Go: "go1.27.4", AMD64: "v3"}, true},
		{Build{PGO: PGOAuto}, Build{AMD64: "v2"}, Build{PGO: PGOAuto, AMD64: "v2"}, false},
		{Build{Experiments: "nogreenteagc"}, Build{Experiments: "jsonv2"}, Build{Experiments: "nogreenteagc,jsonv2"}, false},
		{Build{Experiments: "jsonv2,nogreenteagc"}, Build{Experiments: "greenteagc"}, Build{Experiments: "greenteagc,jsonv2"}, true},
		{Build{Patches: "a"}, Build{Patches: "a,b"}, Build{Patches: "a,b"}, true},
	} {
		if got := tt.a.With(tt.b); got != tt.want || tt.a.Conflicts(tt.b) != tt.conflicts || tt.b.Conflicts(tt.a) != tt.conflicts {
			t.Errorf("%v with %v: %v, want %v; conflicts: %v, want %v", tt.a, tt.b, got, tt.want, tt.a.Conflicts(tt.b), tt.conflicts)
		}
	}
}

// TestSteps: a build is all of its steps, in any order, and has each.
func TestSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string, of ...string) string { return rapid.SampledFrom(append(of, "")).Draw(t, name) }
		b := Build{Go: pick("go", "go1.27.4"), AMD64: pick("level", "v2", "v3"), PGO: pick("pgo", PGOOff, "p"), Patches: pick("patches", "a,b"),
			Experiments: pick("experiments", "nogreenteagc", "nogreenteagc,jsonv2", "arenas,jsonv2")}
		var got Build
		for _, s := range rapid.Permutation(b.Steps()).Draw(t, "order") {
			if got.Conflicts(s) || !b.Has(s) {
				t.Fatalf("%v and its step %v", b, s)
			}
			got = got.With(s)
		}
		if want := (Build{}).With(b); got.String() != want.String() && got.With(b) != want.With(b) || len(got.Steps()) != len(b.Steps()) {
			t.Fatalf("%v of the steps of %v", got, b)
		}
	})
}

func TestCombinations(t *testing.T) {
	steps := []Build{{Go: "go1.26.8"}, {Go: "go1.27.4"}, {PGO: PGOAuto}, {Experiments: "greenteagc"}, {Experiments: "nogreenteagc"}}
	all := Combinations(steps)
	if len(all) != 3*2*3 || !all[0].IsZero() {
		t.Fatalf("%d combinations: %v", len(all), all)
	}
	for i, b := range all {
		if slices.Contains(all[:i], b) {
			t.Errorf("%v twice", b)
		}
		if i > 0 && len(b.Steps()) < len(all[i-1].Steps()) {
			t.Errorf("%v comes after %v", b, all[i-1])
		}
	}
	if !slices.Contains(all, Build{Go: "go1.27.4", PGO: PGOAuto, Experiments: "nogreenteagc"}) {
		t.Error("a combination of three is missing")
	}
}
