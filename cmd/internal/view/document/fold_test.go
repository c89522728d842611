package document

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
)

// Each experiment of several has its sentence in the list of contents and above one
// chart; the rest is folded away, and what others measured by itself.
func TestLabFolds(t *testing.T) {
	p := New(resulttest.Read(t, "lab.json", resulttest.Lab()))
	s := p.Sections[0]
	if len(s.Answers) != 0 || len(s.Contents()) != len(s.Blocks) || len(s.Blocks) != 8 {
		t.Fatalf("%d answers, %d of %d blocks in the contents", len(s.Answers), len(s.Contents()), len(s.Blocks))
	}
	references := 0
	for _, b := range s.Blocks {
		name, _, _ := strings.Cut(b.Title, ":")
		if b.Lead != "It costs "+name+"." || b.Says() != b.Lead || b.Sure == "" {
			t.Errorf("%s says %q (%s)", b.Title, b.Lead, b.Sure)
		}
		if len(b.Charts) != 1 || len(b.Tables) != 0 || len(b.Words) != 0 {
			t.Errorf("%s shows %d charts, %d tables and %d sentences more", b.Title, len(b.Charts), len(b.Tables), len(b.Words))
		}
		for _, series := range b.Charts[0].Series {
			if series.Ref || slices.ContainsFunc(series.P, func(p Point) bool { return p.Ref }) {
				t.Errorf("%s: %s is from another machine", b.Title, series.Name)
			}
		}
		if len(b.Charts[0].Lines) > 0 {
			t.Errorf("%s: the processor of somebody else is in the chart", b.Title)
		}
		last := b.Folds[len(b.Folds)-1]
		if last.Title != "Measured by others, on other machines" || last.Words[0] != "Known from elsewhere: somebody" {
			t.Errorf("%s: the last that is folded away is %q: %q", b.Title, last.Title, last.Words)
		}
		references += len(last.Charts)
		if !strings.HasPrefix(b.Folds[0].Title, "Details: 2 findings") || len(b.Folds[0].Tables) < 2 {
			t.Errorf("%s: first folded away: %q with %d tables", b.Title, b.Folds[0].Title, len(b.Folds[0].Tables))
		}
	}
	if references < 7 {
		t.Errorf("%d charts with figures of others", references)
	}
	// Of a source that has one figure, a row for each of its programs, and no more.
	last := s.Blocks[7].Folds[len(s.Blocks[7].Folds)-1]
	if len(last.Charts) != 1 || len(last.Tables) != 1 || len(last.Tables[0].Rows) != 4 {
		t.Fatalf("%s: %d charts, %d tables", s.Blocks[7].Title, len(last.Charts), len(last.Tables))
	}
	c := last.Charts[0]
	if !slices.Equal(c.Y.Categories[2:], []string{"elsewhere: Go 1.17", "elsewhere: Go 1.17, no assists", "elsewhere: Go 1.19", "elsewhere: Go 1.19, no assists"}) ||
		len(c.Series[0].P) != 6 || c.Series[0].P[5].Text != "3.900ms" || len(c.Series[1].P) != 2 {
		t.Errorf("%q, %+v", c.Y.Categories, c.Series)
	}
	one := resulttest.Lab()
	one.Experiments = one.Experiments[:1]
	s = New(resulttest.Read(t, "lab.json", one)).Sections[0]
	if len(s.Answers) != 1 || s.Blocks[0].Lead != "" || s.Contents() != nil {
		t.Errorf("of one experiment: %d answers, %q, contents %v", len(s.Answers), s.Blocks[0].Lead, s.Contents())
	}
}

// Checks that passed are folded away, counted.
func TestPassedChecksFold(t *testing.T) {
	f := resulttest.Doctor("./prog")
	for i := range 5 {
		f.Checks = append(f.Checks, result.DoctorCheck{ID: fmt.Sprint("fine-", i), Title: "x", Scope: diagnose.Host, State: diagnose.Clean})
	}
	f.Checks = append(f.Checks, result.DoctorCheck{ID: "other", Title: "x", Scope: diagnose.OfGo, State: diagnose.DoesNotApply, Why: new("no Go")})
	s := New(resulttest.Read(t, "doctor.json", f)).Sections[0]
	b := s.Blocks[len(s.Blocks)-1]
	var shown []string
	for _, r := range b.Tables[0].Rows {
		shown = append(shown, r.Cells[0].Text)
	}
	if want := []string{"swapping"}; !slices.Equal(shown, want) {
		t.Errorf("shown: %q, want %q", shown, want)
	}
	if len(b.Folds) != 2 || b.Folds[0].Title != "6 checks passed" || len(b.Folds[0].Tables[0].Rows) != 6 ||
		b.Folds[1].Title != "1 check left out" {
		t.Errorf("folded away: %+v", b.Folds)
	}
}
