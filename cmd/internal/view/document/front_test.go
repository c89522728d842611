package document

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
)

// frontOf is the line of a search, and what it has for a chart.
func frontOf(t *testing.T, f *result.File) string {
	t.Helper()
	var names []string
	tuned := newTuned(f)
	for _, a := range tuned.front() {
		names = append(names, a.Name)
	}
	lines := 0
	c := tuned.scatter()
	for _, s := range c.Series {
		if s.Line {
			lines++
			if len(s.P) != len(names) {
				t.Errorf("%d points on the line of %d settings", len(s.P), len(names))
			}
		}
	}
	if (lines == 1) != (len(names) > 0) || strings.Contains(c.Caption, "Dashed: ") != (lines == 1) {
		t.Errorf("%d lines for %q: %s", lines, names, c.Caption)
	}
	return strings.Join(names, " ")
}

// The line joins the settings on the Pareto frontier that have runs enough.
func TestFront(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *result.File)
		want   string
	}{
		"all":          {func(*result.File) {}, "default GOGC=200 GOGC=400"},
		"not on it":    {func(f *result.File) { f.Arms[2].Final.Front = false }, "default GOGC=400"},
		"2 runs":       {func(f *result.File) { f.Arms[2].Final.N = 2 }, "default GOGC=400"},
		"3 runs":       {func(f *result.File) { f.Arms[2].Final.N = 3 }, "default GOGC=200 GOGC=400"},
		"nothing else": {func(f *result.File) { f.Arms[0].Final.Front, f.Arms[2].Final.Front = false, false }, ""},
		"no final":     {func(f *result.File) { f.Arms[2].Final, f.Arms[3].Final = nil, nil }, ""},
	} {
		f := resulttest.Tune(8, "./prog")
		c.change(f)
		if got := frontOf(t, f); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What decides, adjusted for drift, is not there again as it was measured.
func TestMetricIsOneColumn(t *testing.T) {
	for _, name := range []string{"wall", "cpu"} {
		t.Run(name, func(t *testing.T) {
			f := resulttest.Tune(8, "./prog")
			f.Metric = &result.Target{Name: name}
			n := 0
			for _, c := range newTuned(f).table().Head {
				if strings.EqualFold(c.Label, name+" time") {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d columns of %s, want 1", n, name)
			}
		})
	}
}
