package advice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	n := func(v int) *int { return &v }
	for _, c := range []struct {
		name string
		f    Facts
		want []string
	}{
		{"nothing known", Facts{}, nil},
		{"the kernel's defaults, a machine", Facts{Enabled: "madvise", Defrag: "madvise", MaxPtesNone: n(511),
			WindowPages: 512, Anyone: true}, []string{"max-ptes-none"}},
		{"the kernel's defaults, a program that does not ask",
			Facts{Enabled: "madvise", Defrag: "madvise", MaxPtesNone: n(511), WindowPages: 512}, nil},
		{"the kernel's defaults, a program that asks",
			Facts{Enabled: "madvise", Defrag: "madvise", MaxPtesNone: n(511), WindowPages: 512, Asks: true},
			[]string{"max-ptes-none", "defrag-always"}},
		{"always", Facts{Enabled: "always", Defrag: "always", MaxPtesNone: n(511), WindowPages: 512}, []string{"max-ptes-none", "defrag-always"}},
		{"never", Facts{Enabled: "never", Defrag: "always", MaxPtesNone: n(511), WindowPages: 512, Asks: true, Anyone: true}, nil},
		{"an eighth", Facts{Enabled: "always", Defrag: "defer", MaxPtesNone: n(64), WindowPages: 512}, nil},
		{"more than an eighth", Facts{Enabled: "always", Defrag: "defer", MaxPtesNone: n(65), WindowPages: 512}, []string{"max-ptes-none"}},
		{"opted out", Facts{Enabled: "madvise", OptedOut: true}, []string{"thp-disabled"}},
	} {
		var got []string
		for _, a := range Find(&c.f) {
			got = append(got, a.Rule)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Every rule says what, why, what to do, and where that is from.
func TestAdviceIsComplete(t *testing.T) {
	n := 511
	seen := make(map[string]bool)
	for _, a := range Find(&Facts{Enabled: "always", Defrag: "always", MaxPtesNone: &n, WindowPages: 512, OptedOut: true}) {
		seen[a.Rule] = true
		if !strings.HasSuffix(a.What, ".") || !strings.HasSuffix(a.Means, ".") || a.Do == "" || !strings.HasPrefix(a.See, "https://") {
			t.Errorf("%+v", a)
		}
		if strings.ContainsAny(a.Line(), "\n") {
			t.Errorf("%q has several lines", a.Line())
		}
	}
	for _, r := range rules {
		if !seen[r.id] {
			t.Errorf("%s was not found", r.id)
		}
	}
	if a, ok := ByID("max-ptes-none", &Facts{Enabled: "always", MaxPtesNone: &n, WindowPages: 512}); !ok ||
		!strings.Contains(a.Means, "1 of 512 base pages in use") || !strings.Contains(a.Means, fmt.Sprint(512)+" times") {
		t.Errorf("%+v", a)
	}
}
