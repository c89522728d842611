package gobench

import (
	"cmp"
	"sort"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/console"
)

// Run returns the samples of run or tune: one result a sample, with the arm and the
// machine as configuration, so that "benchstat -col gogc,gomemlimit FILE" compares the
// arms. The program's own Go benchmarks appear under their own names.
func Run(f *result.File) (out []*benchfmt.Result) {
	for i := range f.Arms {
		out = append(out, Arm(f, i)...)
	}
	return out
}

// Arm returns the samples of an arm of run or tune, the program itself first.
func Arm(f *result.File, i int) []*benchfmt.Result {
	arm := &f.Arms[i]
	return ofSamples(f.Program.Command, configOf(f, arm.Setting), arm.Samples)
}

// AB returns the samples of ab: one result a sample, all under the name of the base, so
// that "benchstat -col arm FILE" compares the arms.
func AB(f *result.AB) (out []*benchfmt.Result) {
	for _, arm := range f.Arms {
		// One name for all: benchstat compares what has the same.
		as := &result.File{Host: f.Host, Program: f.Arms[0].Program}
		as.Program.GoVersion = arm.Program.GoVersion
		config := configOf(as, f.Setting)
		config.add("arm", arm.Name)
		if arm.Source != nil {
			config.add("commit", arm.Source.Commit)
		}
		out = append(out, ofSamples(as.Program.Command, config, arm.Samples)...)
	}
	return out
}

// knownFigures are those that some sample has: shares only by samples enough.
func knownFigures(samples []*result.Sample) []result.Figure {
	var known []result.Figure
	for _, fig := range result.Figures {
		if fig.Values(samples) != nil {
			known = append(known, fig)
		}
	}
	return known
}

// ofSamples returns the results of an arm's samples that count.
func ofSamples(command []string, config configKeys, samples []*result.Sample) (out []*benchfmt.Result) {
	known := knownFigures(samples)
	for _, s := range samples {
		if s.OK() {
			out = append(out, ofSample(command, config, s, known)...)
		}
	}
	return out
}

// ofSample returns a result of the program, and one of each of its own Go benchmarks.
func ofSample(command []string, config configKeys, s *result.Sample, known []result.Figure) []*benchfmt.Result {
	own := &benchfmt.Result{Config: config, Name: nameOf(command), Iters: 1}
	for _, fig := range known {
		if v, ok := fig.Get(s); ok {
			own.Values = append(own.Values, benchfmt.Value{Value: v, Unit: fig.Unit})
		}
	}
	byName := make(map[string]*benchfmt.Result)
	keys := make([]string, 0, len(s.Metrics))
	for k := range s.Metrics {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	out := []*benchfmt.Result{own}
	for _, k := range keys {
		name, unit, bench := cutLast(k)
		if !bench {
			own.Values = append(own.Values, benchfmt.Value{Value: s.Metrics[k], Unit: k})
			continue
		}
		r := byName[name]
		if r == nil {
			r = &benchfmt.Result{Config: config, Name: benchfmt.Name(name), Iters: 1}
			byName[name], out = r, append(out, r)
		}
		r.Values = append(r.Values, benchfmt.Value{Value: s.Metrics[k], Unit: unit})
	}
	return out
}

// cutLast splits the name of a Go benchmark figure, "Insert-2 ns/op"; names of
// the user's own figures have no space.
func cutLast(key string) (name, unit string, ok bool) {
	i := strings.LastIndexByte(key, ' ')
	if i < 0 {
		return "", "", false
	}
	return key[:i], key[i+1:], true
}

// configKeys are the configuration keys of results; what is empty is left out.
type configKeys []benchfmt.Config

func (c *configKeys) add(key, value string) {
	if value != "" {
		*c = append(*c, benchfmt.Config{Key: key, Value: []byte(console.Line(value)), File: true})
	}
}

// hostConfig returns the keys that say where results are from.
func hostConfig(h result.Host) configKeys {
	var out configKeys
	out.add("goos", h.OS)
	out.add("goarch", h.Arch)
	out.add("kernel", h.Kernel)
	out.add("cpu", h.CPU)
	if h.THPEnabled != nil {
		out.add("thp-enabled", *h.THPEnabled)
	}
	if h.THPDefrag != nil {
		out.add("thp-defrag", *h.THPDefrag)
	}
	return out
}

// limits adds those that the runs had.
func (c *configKeys) limits(l *result.Limits) {
	if l != nil {
		c.add("limits", l.String())
	}
}

// configOf returns the configuration keys of the results of a setting.
func configOf(f *result.File, set result.Setting) configKeys {
	out := hostConfig(f.Host)
	add := out.add
	if f.Program.GoVersion != nil {
		add("go", *f.Program.GoVersion)
	}
	out.limits(f.Program.Limits)
	for i, key := range result.GoKeys() {
		add(key, cmp.Or(set.GoValue(i), "default"))
	}
	add("thp", set.THP)
	if f.BuildSeconds != nil || set.Build != nil { // builds were searched
		build := "default"
		if set.Build != nil {
			build = set.Build.String()
		}
		add("build", build)
	}
	return out
}

// nameOf makes a benchmark name of a command: its base name in letters that
// the format allows, the first one upper case.
func nameOf(command []string) benchfmt.Name {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, result.CommandName(command))
	if clean == "" {
		clean = "Program"
	}
	r := []rune(clean)
	r[0] = unicode.ToUpper(r[0])
	return benchfmt.Name(string(r))
}
