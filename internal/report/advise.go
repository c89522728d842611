package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/foliomem/folio/internal/advise"
	"github.com/foliomem/folio/internal/stat"
)

// Advise is what folio advise shows.
type Advise struct {
	Title  string
	Advice *advise.Advice
	Notes  []string
}

// Text prints the call sites that would gain from an arena.
func (r *Advise) Text(w io.Writer) error {
	a := r.Advice
	p := &printer{w: w}
	p.line("%s", printable(r.Title))
	p.line("")
	if c := a.Cost; !math.IsNaN(c.GC) && c.CPU > 0 {
		alloc := ""
		if !math.IsNaN(c.Allocation) {
			alloc = ", allocation " + Percent(c.Allocation/c.CPU)
		}
		p.line("  %s of processor time: the collector %s%s", Seconds(c.CPU), Percent(c.GC/c.CPU), alloc)
	} else if c.CPU > 0 {
		p.line("  %s of processor time: what the collector took of it is not known", Seconds(c.CPU))
	} else {
		p.line("  what the collector costs is not known: give the command too, to measure it")
	}
	p.line("  %s in %s objects were allocated", Bytes(float64(a.Total.AllocBytes)), Count(float64(a.Total.AllocObjects)))
	if a.Nothing != "" {
		p.section("An arena", []string{"nothing to gain: " + a.Nothing})
	}
	for i, s := range a.Suggestions {
		p.section(fmt.Sprintf("%d. %s", i+1, siteName(s.Site)), suggestion(s, a.Cost))
	}
	if len(a.Others) > 0 {
		var lines []string
		for _, o := range a.Others {
			lines = append(lines, fmt.Sprintf("%6s  %s", Percent(o.Share), siteName(o.Site)), "        "+printable(o.Why))
		}
		p.section("Not for an arena, by the share of bytes", lines)
	}
	if len(a.Suggestions) > 0 {
		p.section("How", []string{
			"Make the arena where what it holds begins to live, and free it where that ends:",
			"a := arena.NewArena(); defer a.Free()   (or take it from an arena.Pool)",
			"What outlives it is copied with arena.Clone. folio vet finds what was forgotten.",
		})
	}
	notes := &stat.Notes{}
	for _, n := range r.Notes {
		notes.Add(n)
	}
	p.notes(notes)
	return p.err
}

func siteName(s advise.Site) string { return printable(s.Place() + "  " + s.Func) }

// suggestion describes a call site.
func suggestion(s advise.Suggestion, c advise.Cost) []string {
	rate := ""
	if c.Wall > 0 {
		rate = fmt.Sprintf("%s/s, %s objects/s, ", Bytes(float64(s.AllocBytes)/c.Wall), Count(float64(s.AllocObjects)/c.Wall))
	}
	each := "-"
	if s.AllocObjects > 0 {
		each = Bytes(math.Round(float64(s.AllocBytes) / float64(s.AllocObjects)))
	}
	known := ""
	if s.Samples > 0 {
		known = fmt.Sprintf(" ± %.0f%%", math.Ceil(200/math.Sqrt(s.Samples)))
	}
	out := []string{rate + fmt.Sprintf("%s each; %s of all bytes%s", each, Percent(s.Share), known)}
	life := fmt.Sprintf("%s of it was in use at the end", Percent(s.Kept))
	if !math.IsNaN(s.Life) && s.Life > 0 {
		life += ": it lives for about " + Seconds(s.Life)
	} else if s.Kept == 0 {
		life = "nothing of it was in use at the end"
	}
	out = append(out, life)
	if !math.IsNaN(s.GC) {
		out = append(out, fmt.Sprintf("it causes %s of the processor time in the collector; an arena would save %s to %s", Percent(s.GC), Percent(s.Low), Percent(s.High)))
	}
	if line := strings.TrimSpace(s.Source); line != "" {
		out = append(out, "line: "+printable(strings.ReplaceAll(line, "\t", " ")))
	}
	return append(out, "try:  "+printable(s.Sketch))
}
