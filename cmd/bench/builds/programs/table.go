package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
)

// say prints what a run of each arm took.
func (s *series) say(w io.Writer) {
	fmt.Fprintf(w, "%s: %d packages, builds %.0f s of CPU time:", s.Name, s.Packages, s.Builds)
	for _, f := range s.Arms {
		fmt.Fprintf(w, " %s %.2f s (CPU %.2f s);", f.Name, f.Wall[0], f.CPU[0])
	}
	fmt.Fprintln(w)
}

// tables prints what the programs of a directory of results gave: wall time, CPU time and
// memory.
func tables(w io.Writer, dir string) error {
	var all []*series
	for _, p := range programs {
		data, err := os.ReadFile(filepath.Join(dir, p.name+".json"))
		if os.IsNotExist(err) {
			continue
		}
		s := &series{}
		if err == nil {
			err = json.Unmarshal(data, s)
		}
		if err == nil && len(s.Arms) == 0 {
			err = fmt.Errorf("%s: no arms", p.name)
		}
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	for _, of := range []struct {
		what   string
		values func(*figure) []float64
		show   func(float64) string
	}{
		{"wall time", func(f *figure) []float64 { return f.Wall }, seconds},
		{"CPU time", func(f *figure) []float64 { return f.CPU }, seconds},
		{"peak RSS", func(f *figure) []float64 { return f.Peak }, mebibytes},
	} {
		head := []string{of.what}
		for _, s := range all {
			head = append(head, s.Name)
		}
		t := table.New(w, head...)
		for i, a := range all[0].Arms {
			row := []string{a.Name}
			for _, s := range all {
				base, values := of.values(s.Arms[0]), of.values(s.Arms[i])
				if i == 0 {
					row = append(row, of.show(stat.Median(base)))
				} else {
					row = append(row, ratio(base, values))
				}
			}
			t.Row(row...)
		}
		fmt.Fprintln(w)
	}
	t := table.New(w, "program", "packages", "builds, CPU time", "rounds")
	for _, s := range all {
		t.Rowf("%s | %d | %.0f s | %d", s.Name, s.Packages, s.Builds, len(s.Arms[0].Wall))
	}
	return nil
}

func seconds(v float64) string   { return fmt.Sprintf("%.2f s", v) }
func mebibytes(v float64) string { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }

// ratio prints the median ratio within rounds, and its interval where there is one. It is
// in bold where the interval leaves 1 out.
func ratio(base, values []float64) string {
	p := stat.ComparePairs(base, values)
	lo, hi, ok := p.Interval(stat.Alpha)
	out := fmt.Sprintf("%.3f", p.Ratio)
	if ok {
		out += fmt.Sprintf(" [%.3f, %.3f]", lo, hi)
	}
	if p.Differs(stat.Alpha) {
		out = "**" + out + "**"
	}
	return out
}
