// Package variant says in what builds of one Go program differ: the toolchain, its
// experiments, GOAMD64, the profile that the compiler optimizes by, and patches of the
// standard library.
package variant

import (
	"slices"
	"strings"
)

// Values of Build.PGO that are not files.
const (
	PGOOff  = "off"  // no profile, not even default.pgo
	PGOAuto = "auto" // a profile of folio's own samples of the default build
)

// A Build is how a program is built. The zero Build is that of go build by itself. Builds
// can be compared, and be keys of maps.
type Build struct {
	Go          string `json:"go,omitempty" redact:"keep"`           // the toolchain, such as go1.27.4
	Experiments string `json:"goexperiment,omitempty" redact:"keep"` // comma-separated, besides those of the environment
	AMD64       string `json:"goamd64,omitempty" redact:"keep"`      // v1 to v4
	PGO         string `json:"pgo,omitempty" redact:"profiled"`      // PGOOff, PGOAuto, or the file of a profile
	Patches     string `json:"patches,omitempty" redact:"keep"`      // of the standard library, comma-separated
}

// IsZero says that the build is as go build does it by itself.
func (b Build) IsZero() bool { return b == Build{} }

// String names the build as tables print it: "" for the zero Build.
func (b Build) String() string {
	var parts [5]string
	out := parts[:0]
	for _, p := range [...]struct{ before, value string }{
		{"", b.Go}, {"GOEXPERIMENT=", b.Experiments}, {"GOAMD64=", b.AMD64}, {"pgo=", b.PGO}, {"patch=", b.Patches},
	} {
		if p.value != "" {
			out = append(out, p.before+p.value)
		}
	}
	return strings.Join(out, " ")
}

// Steps returns the builds that have one thing of b each, those of one thing that can be
// had without another. With returns b from them.
func (b Build) Steps() []Build {
	var out []Build
	add := func(s Build) {
		if !s.IsZero() {
			out = append(out, s)
		}
	}
	add(Build{Go: b.Go})
	for _, e := range list(b.Experiments) {
		add(Build{Experiments: e})
	}
	add(Build{AMD64: b.AMD64})
	add(Build{PGO: b.PGO})
	add(Build{Patches: b.Patches})
	return out
}

// Has says whether b has all that step has.
func (b Build) Has(step Build) bool { return b.With(step) == b }

// Conflicts says whether two builds cannot be had together: both want another toolchain,
// or an experiment on and off.
func (b Build) Conflicts(c Build) bool {
	differ := func(x, y string) bool { return x != "" && y != "" && x != y }
	if differ(b.Go, c.Go) || differ(b.AMD64, c.AMD64) || differ(b.PGO, c.PGO) || differ(b.Patches, c.Patches) {
		return true
	}
	for _, x := range list(b.Experiments) {
		for _, y := range list(c.Experiments) {
			if x != y && Experiment(x) == Experiment(y) {
				return true
			}
		}
	}
	return false
}

// With returns b with all that c sets, in place of what b has of it.
func (b Build) With(c Build) Build {
	set := func(to *string, value string) {
		if value != "" {
			*to = value
		}
	}
	set(&b.Go, c.Go)
	set(&b.AMD64, c.AMD64)
	set(&b.PGO, c.PGO)
	set(&b.Patches, c.Patches)
	if c.Experiments != "" {
		all := slices.DeleteFunc(list(b.Experiments), func(x string) bool {
			return slices.ContainsFunc(list(c.Experiments), func(y string) bool { return Experiment(x) == Experiment(y) })
		})
		all = append(all, list(c.Experiments)...)
		slices.SortFunc(all, func(x, y string) int { return strings.Compare(Experiment(x), Experiment(y)) })
		b.Experiments = strings.Join(all, ",")
	}
	return b
}

// Experiment returns the name of what a value of GOEXPERIMENT turns on or off.
func Experiment(value string) string { return strings.TrimPrefix(value, "no") }

// Combinations returns all builds that some of steps make together, the zero Build first,
// and builds of fewer steps before those of more.
func Combinations(steps []Build) []Build {
	out := []Build{{}}
	for _, s := range steps {
		for _, b := range slices.Clone(out) {
			if !b.Conflicts(s) && !b.Has(s) && !slices.Contains(out, b.With(s)) {
				out = append(out, b.With(s))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Build) int { return len(a.Steps()) - len(b.Steps()) })
	return out
}

// list splits a comma-separated list.
func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
