package report

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/internal/console"
	"github.com/foliomem/folio/internal/host"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/unit"
)

// Bench returns the samples in the Go benchmark format, which benchstat reads:
// one result a sample, with the arm and the machine as configuration, so that
// "benchstat -col gogc,gomemlimit FILE" compares the arms. The program's own Go
// benchmarks appear under their own names.
func Bench(f *result.File) ([]byte, error) {
	var b bytes.Buffer
	w := benchfmt.NewWriter(&b)
	for _, arm := range f.Arms {
		known := knownFigures(arm.Samples)
		for _, s := range arm.Samples {
			if !s.OK() {
				continue
			}
			for _, r := range benchResults(f, &arm, s, known) {
				if err := w.Write(r); err != nil {
					return nil, fmt.Errorf("write the Go benchmark format: %w", err)
				}
			}
		}
	}
	return []byte(console.Escape(b.String())), nil
}

// knownFigures are those that some sample has: shares only by samples enough.
func knownFigures(samples []*trial.Sample) []trial.Figure {
	var known []trial.Figure
	for _, fig := range trial.Figures {
		if fig.Values(samples) != nil {
			known = append(known, fig)
		}
	}
	return known
}

func benchResults(f *result.File, arm *result.Arm, s *trial.Sample, known []trial.Figure) []*benchfmt.Result {
	config := configOf(f, arm)
	own := &benchfmt.Result{Config: config, Name: benchfmt.Name(benchName(f.Program.Command)), Iters: 1}
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
func hostConfig(h host.Info) configKeys {
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

// configOf returns the configuration keys of an arm's results.
func configOf(f *result.File, arm *result.Arm) []benchfmt.Config {
	out := hostConfig(f.Host)
	add := out.add
	if f.Program.GoVersion != nil {
		add("go", *f.Program.GoVersion)
	}
	set := arm.Setting
	gogc, limit, procs := "default", "default", "default"
	if set.GOGC != nil {
		gogc = *set.GOGC
	}
	if set.MemLimit != nil {
		limit = unit.Exact(*set.MemLimit)
	}
	if set.GOMAXPROCS != nil {
		procs = fmt.Sprint(*set.GOMAXPROCS)
	}
	add("gogc", gogc)
	add("gomemlimit", limit)
	add("gomaxprocs", procs)
	add("thp", set.THP)
	return out
}

// benchName makes a benchmark name of a command: its base name in letters that
// the format allows, the first one upper case.
func benchName(command []string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, trial.CommandName(command))
	if clean == "" {
		clean = "Program"
	}
	r := []rune(clean)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// BenchAB returns the samples in the Go benchmark format: one result a sample, all under
// the name of the base, so that "benchstat -col arm FILE" compares the arms.
func BenchAB(f *result.AB) ([]byte, error) {
	var b bytes.Buffer
	w := benchfmt.NewWriter(&b)
	for _, arm := range f.Arms {
		// One name for all: benchstat compares what has the same.
		as := result.File{Host: f.Host, Program: f.Arms[0].Program}
		as.Program.GoVersion = arm.Program.GoVersion
		known := knownFigures(arm.Samples)
		for _, s := range arm.Samples {
			if !s.OK() {
				continue
			}
			for _, r := range benchResults(&as, &result.Arm{Setting: f.Setting}, s, known) {
				keys := configKeys(r.Config)
				keys.add("arm", arm.Name)
				if arm.Source != nil {
					keys.add("commit", arm.Source.Commit)
				}
				r.Config = keys
				if err := w.Write(r); err != nil {
					return nil, fmt.Errorf("write the Go benchmark format: %w", err)
				}
			}
		}
	}
	return []byte(console.Escape(b.String())), nil
}
