package text

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/html"
	"github.com/foliomem/folio/cmd/internal/view/markdown"
)

// sampled returns where the eight seconds of goSample went.
func sampled() *profile.Result {
	class := func(c profile.Class, fraction float64) profile.ClassShare {
		return profile.ClassShare{Class: c, Seconds: 8 * fraction, Fraction: fraction}
	}
	r := &profile.Result{
		Samples: 7976, Kernel: true,
		Classes: []profile.ClassShare{
			class(profile.GCMark, 0.25), class(profile.GCAssist, 0.0625), class(profile.Allocation, 0.125), class(profile.Zeroing, 0.03125),
			class(profile.Growth, 0.0625), class(profile.PageFaults, 0.03125), class(profile.Syscalls, 0.001), class(profile.Program, 0.4365),
		},
		Sites: []profile.Site{
			{Func: "example.com/shop.(*Cart).Add", File: "/src/shop/cart.go", Line: 42, Seconds: 1.25, Fraction: 0.15625,
				Classes: map[profile.Class]float64{profile.Allocation: 0.6, profile.GCAssist: 0.3, profile.Zeroing: 0.1}},
			{Func: "example.com/shop.index", File: "/src/shop/index.go", Line: 7, Seconds: 0.5, Fraction: 0.0625,
				Classes: map[profile.Class]float64{profile.Growth: 1}},
		},
	}
	r.Recompute()
	return r
}

func TestRunTextSampled(t *testing.T) {
	var samples []*trial.Sample
	for i := range 6 {
		s := goSample(i)
		s.Profile = sampled()
		s.Recompute()
		samples = append(samples, s)
	}
	f := runFile(samples)
	f.Program.Command = []string{"./shop", "-n", "1"}
	analyze(f)
	document.SetNotes(f, nil)
	var b, again bytes.Buffer
	if err := show(&b, f, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	if err := show(&again, savedAgain(t, f), Options{Full: true}); err != nil || again.String() != b.String() {
		t.Errorf("read back, %v:\n%s", err, again.String())
	}
	golden(t, "run-sampled.txt", b.Bytes())
	briefGolden(t, f, "sampled")

	// Where the kernel's side is hidden, its page faults are not in the memory tax.
	for _, s := range samples {
		s.Profile.Kernel = false
		for i := range s.Profile.Classes {
			if c := &s.Profile.Classes[i]; c.Class == profile.PageFaults {
				c.Class = profile.Kernel
			}
		}
		s.Profile.Recompute()
		s.Recompute()
	}
	f = runFile(samples)
	f.Program.Command = []string{"./shop", "-n", "1"}
	analyze(f)
	briefGolden(t, f, "hidden-kernel")
}

// In each row of the table of folio tune, the GC share is a part of the memory tax, both
// of the runs that were sampled, and neither is above 100%.
func TestTuneTableShares(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := &result.File{Metric: result.NewTarget(&metric.Spec{Name: metric.Wall}, nil)}
		for i := range rapid.IntRange(1, 5).Draw(rt, "settings") {
			a := result.Arm{Name: fmt.Sprint("setting ", i), Final: &tune.Final{Rank: i}}
			for range rapid.IntRange(1, 6).Draw(rt, "runs") {
				s := goSample(1)
				s.GCRuntimeCPU = new(rapid.Float64Range(0, 300).Draw(rt, "trace")) // of 8 s
				if rapid.Bool().Draw(rt, "sampled") {
					s.Profile = &profile.Result{Samples: rapid.Uint64Range(1, 1e4).Draw(rt, "samples")}
					for _, k := range profile.Classes {
						s.Profile.Classes = append(s.Profile.Classes,
							profile.ClassShare{Class: k.Class, Seconds: rapid.Float64Range(0, 10).Draw(rt, string(k.Class))})
					}
				}
				s.Recompute()
				a.Samples = append(a.Samples, s)
			}
			a.Summary = result.Summarize(a.Samples)
			f.Arms = append(f.Arms, a)
		}
		f.Kind = result.KindTune
		tb := document.Text(f).Sections[0].Blocks[0].Tables[0]
		column := func(name string) int {
			return slices.IndexFunc(tb.Head, func(c document.Column) bool { return c.Label == name })
		}
		gc, tax := column("GC share"), column("memory tax")
		if gc < 0 || tax < 0 {
			return // no setting has enough samples
		}
		for _, row := range tb.Rows {
			if row.Cells[gc].Text == "-" && row.Cells[tax].Text == "-" {
				continue
			}
			var x, y float64
			if _, err := fmt.Sscanf(row.Cells[gc].Text+" "+row.Cells[tax].Text, "%f%% %f%%", &x, &y); err != nil || x < 0 || x > y || y > 100 {
				rt.Fatalf("GC share %s, memory tax %s: %v", row.Cells[gc].Text, row.Cells[tax].Text, err)
			}
		}
	})
}

// The classes of the GC and of the memory tax add up to the headline as they are printed, and all
// to 100%, wherever the result is shown.
func TestClassesAddUp(t *testing.T) {
	page := func(d *document.Document) string {
		page, err := html.Render(d)
		if err != nil {
			t.Fatal(err)
		}
		return string(page)
	}
	seconds := []float64{1.2345, 0.111, 0.0456, 0.0333, 0.777, 0.01, 0.0222, 0.0999, 1, 0.5, 4, 0.01, 0, 0.02}
	addUp(t, seconds, map[string]func(*document.Document) string{"page": page})
	rapid.Check(t, func(rt *rapid.T) {
		var seconds []float64
		for _, k := range profile.Classes {
			most := rapid.SampledFrom([]float64{0.1, 1, 10}).Draw(rt, "most")
			if k.Class == profile.Unnamed {
				most = 0
			}
			seconds = append(seconds, rapid.Float64Range(0, most).Draw(rt, string(k.Class)))
		}
		addUp(rt, seconds, nil)
	})
}

var (
	percent  = regexp.MustCompile(`([0-9]+)\.([0-9])%`)
	starred  = regexp.MustCompile(`\w \*[ <]`) // a class of the memory tax
	headline = regexp.MustCompile(`(?m)^([0-9.]+%) \S+ \S+ of CPU time goes to memory: GC ([0-9.]+%), the rest ([0-9.]+%)`)
)

// classOf is the class whose row a line is.
func classOf(line string) *profile.ClassInfo {
	for i, c := range profile.Classes {
		if strings.HasPrefix(strings.TrimLeft(line, " |"), c.Title) {
			return &profile.Classes[i]
		}
	}
	return nil
}

// addUp checks a run with a CPU time of each class, as text, as Markdown and in other forms.
func addUp(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, seconds []float64, forms map[string]func(*document.Document) string) {
	t.Helper()
	tenths := func(text string) int {
		m := percent.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no share in %q", text)
		}
		n, _ := strconv.Atoi(m[1] + m[2])
		return n
	}
	s := goSample(1)
	s.Profile = &profile.Result{Samples: 1000, Kernel: true}
	for i, k := range profile.Classes {
		s.Profile.Classes = append(s.Profile.Classes, profile.ClassShare{Class: k.Class, Seconds: seconds[i]})
	}
	s.Recompute()
	if !s.Profile.Shares() {
		return // all is zero
	}
	f := runFile([]*trial.Sample{s})
	analyze(f)
	var brief, full bytes.Buffer
	if err := errors.Join(show(&brief, f, Options{}), show(&full, f, Options{Full: true})); err != nil {
		t.Fatal(err)
	}
	d := document.Text(f)
	texts := map[string]string{"brief": brief.String(), "full": full.String(),
		"markdown": strings.NewReplacer(`\*`, "*").Replace(string(markdown.Render(d)))}
	for name, render := range forms {
		texts[name] = render(d)
	}
	tax := int(math.Round(*s.Profile.MemoryTaxFraction * 1000))
	for name, text := range texts {
		_, table, _ := strings.Cut(text, "CPU time by class")
		sum, all, gc, rest := 0, 0, 0, 0
		for l := range strings.Lines(table) {
			if strings.HasPrefix(l, "<script") || !percent.MatchString(l) {
				continue
			}
			rest += strings.Count(l, "other memory classes") + strings.Count(l, "everything else")
			switch class := classOf(l); {
			case class != nil && class.GC:
				gc += tenths(l)
				fallthrough
			case starred.MatchString(l):
				sum += tenths(l)
				fallthrough
			case class != nil, strings.Contains(l, "everything else"):
				all += tenths(l)
			}
		}
		if name != "page" && (all != 1000 || gc != int(math.Round(*s.Profile.GCFraction*1000))) {
			t.Fatalf("%s: all classes add up to %d tenths of a percent, those of the GC to %d:\n%s", name, all, gc, text)
		}
		if sum != tax {
			t.Fatalf("%s: the classes add up to %d, and the memory tax is %d tenths of a percent:\n%s", name, sum, tax, text)
		}
		if name != "brief" && rest > 0 {
			t.Fatalf("%s has all classes, and their sum:\n%s", name, text)
		}
	}
	if m := headline.FindStringSubmatch(brief.String()); m == nil || tenths(m[1]) != tax || tax != tenths(m[2])+tenths(m[3]) {
		t.Fatalf("the headline does not add up: %q\n%s", m, brief.String())
	}
}
