package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/bench/internal/table"
)

// most is how many functions are compared.
const most = 10

// profiles runs the program that profiles itself under folio run and compares
// both profiles of this one run.
func (b *bench) profiles(w io.Writer, index string) error {
	own, ours := filepath.Join(b.dir, "own.pb.gz"), filepath.Join(b.dir, "folio.pb.gz")
	if err := quiet(b.folio, "run", "--no-gc", "--sample-rate", rate, "--pprof", ours, "--", index, "-docs",
		"4000", "-profile", own); err != nil {
		return err
	}
	var read [2]*profile.Profile
	for i, path := range []string{ours, own} {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		read[i], err = profile.Parse(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	for _, k := range []struct {
		title string
		of    func(stack []string) string
	}{
		{"functions by the time in themselves", func(stack []string) string { return stack[0] }},
		{"call sites of the runtime's memory management", caller},
	} {
		var parts [2]map[string]float64
		var tops [2][]string
		for i, p := range read {
			parts[i] = sum(p, k.of)
			tops[i] = byAmount(parts[i], most)
		}
		both := 0
		union := slices.Clone(tops[0])
		for _, n := range tops[1] {
			if slices.Contains(union, n) {
				both++
			} else {
				union = append(union, n)
			}
		}
		fmt.Fprintf(w, "%s, top %d: %d in both\n\n", k.title, most, both)
		tb := table.New(w, "function", "Folio", "runtime/pprof")
		for _, n := range union {
			row := []string{"`" + n + "`"}
			for i := range parts {
				place := "-"
				if at := slices.Index(tops[i], n); at >= 0 {
					place = fmt.Sprint(at + 1)
				}
				row = append(row, fmt.Sprintf("%.1f%% (%s)", 100*parts[i][n], place))
			}
			tb.Row(row...)
		}
		fmt.Fprintln(w)
	}
	return nil
}

// sum returns the part of the CPU time by what of says a stack belongs to.
// Stacks have the names of functions, innermost first. The runtime's profiler
// does not see the kernel, whose time is that of the function that it runs for.
func sum(p *profile.Profile, of func([]string) string) map[string]float64 {
	value := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" })
	parts, total := make(map[string]float64), 0.0
	for _, s := range p.Sample {
		var stack []string
		for _, l := range s.Location {
			if l.Mapping != nil && l.Mapping.File == "[kernel]" {
				continue
			}
			for _, line := range l.Line {
				stack = append(stack, line.Function.Name)
			}
		}
		if value < 0 || len(stack) == 0 {
			continue
		}
		total += float64(s.Value[value])
		if name := of(stack); name != "" {
			parts[name] += float64(s.Value[value])
		}
	}
	for name := range parts {
		parts[name] /= total
	}
	return parts
}

// caller returns the innermost function outside of the runtime in a stack that
// allocates, "" for other stacks.
func caller(stack []string) string {
	allocates := false
	for _, name := range stack {
		switch {
		case strings.HasPrefix(name, "runtime.mallocgc"), name == "runtime.growslice":
			allocates = true
		case strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/"):
		case allocates:
			return name
		default:
			return ""
		}
	}
	return ""
}
