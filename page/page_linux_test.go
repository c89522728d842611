package page_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
	"github.com/foliomem/folio/page"
)

// mapped maps memory for the length of a test.
func mapped(t *testing.T, size int, o *page.Options) *page.Mapping {
	t.Helper()
	m, err := page.Map(size, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestMapping(t *testing.T) {
	before, beforeBytes := page.Mapped()
	p := page.Size()
	const name = "of a test"
	m := mapped(t, 8*p-1, &page.Options{Name: name})
	if n, bytes := page.Mapped(); n != before+1 || bytes != beforeBytes+uint64(8*p) {
		t.Errorf("Mapped() = %d, %d; before %d, %d", n, bytes, before, beforeBytes)
	}
	if m.Len() != 8*p || m.Kind() != page.Base || m.PageSize() != p || m.Range() != page.RangeOf(m.Bytes()) {
		t.Errorf("%d bytes of %v pages of %d at %v", m.Len(), m.Kind(), m.PageSize(), m.Range())
	}
	resident := func(want int) {
		t.Helper()
		r, err := m.Residency()
		if err != nil || r.Resident != uint64(want*p) || r.Huge != 0 || r.Coverage() != 0 {
			t.Errorf("residency %+v, %v; want %d pages", r, err, want)
		}
	}
	resident(0)
	if w, err := m.Windows(); err != nil || len(w) != 0 {
		t.Errorf("windows %+v, %v; want none", w, err)
	}
	if err := m.Populate(p, 2*p); err != nil {
		t.Fatal(err)
	}
	resident(2)
	windows, err := m.Windows()
	var sum uint64
	for _, w := range windows {
		sum += w.Resident
		if want := float64(w.Resident) / float64(w.Range.Len()); w.Density() != want {
			t.Errorf("density %v of %+v", w.Density(), w)
		}
	}
	if err != nil || sum != uint64(2*p) {
		t.Errorf("windows %+v, %v", windows, err)
	}
	if err := m.PopulateAhead(1); err != nil {
		t.Fatal(err)
	}
	resident(8) // they are less than 2 MiB
	if n, err := m.Release(p, p, page.ReleaseDontNeed, nil); err != nil || n != p {
		t.Errorf("Release = %d, %v", n, err)
	}
	resident(7)
	if n, err := m.Range().Release(page.ReleaseDontNeed, &page.ReleaseOptions{Split: true}); err != nil || n != 8*p {
		t.Errorf("Release of the range = %d, %v", n, err)
	}
	resident(0)
	if n, err := m.Range().Release(page.ReleaseDontNeed, nil); err != nil || n != 0 {
		t.Errorf("Release of the range = %d, %v; it has no whole window", n, err)
	}
	if _, err := m.Collapse(0, m.Len(), nil); !errors.Is(err, page.ErrNotSupported) || !strings.Contains(err.Error(), name) {
		t.Errorf("Collapse of base pages: %v", err)
	}
	if err := m.Populate(0, m.Len()+1); err == nil {
		t.Error("a part beyond the end is taken")
	}
}

func TestPopulate(t *testing.T) {
	m := mapped(t, 1<<20, &page.Options{Populate: true})
	if r, err := m.Residency(); err != nil || r.Resident != uint64(m.Len()) {
		t.Errorf("residency %+v, %v", r, err)
	}
	if err := m.PopulateAhead(m.Len()); err != nil {
		t.Error(err)
	}
	if r, err := mapped(t, 1<<20, nil).Residency(); err != nil || r.Resident != 0 {
		t.Errorf("by default: residency %+v, %v", r, err)
	}
}

func TestCollapse(t *testing.T) {
	if page.HugeSize() == 0 {
		testenv.Missing(t, "no transparent huge pages")
	}
	const count = 4
	size := page.HugeSize()
	m := mapped(t, count*size, &page.Options{Kind: page.THP})
	r := m.Range()
	if err := r.Advise(page.AdviseNoHuge); err != nil { // base pages first, whatever the policy
		t.Fatal(err)
	}
	if err := m.Populate(0, size); err != nil {
		t.Fatal(err)
	}
	m.Bytes()[size] = 1
	if err := r.Advise(page.AdviseHuge); err != nil {
		t.Fatal(err)
	}
	calls := 0
	c, err := m.Collapse(0, m.Len(), &page.CollapseOptions{Stop: func(page.Collapsed) bool { calls++; return true }})
	if errors.Is(err, page.ErrNotSupported) {
		testenv.Missing(t, "%v", err)
	}
	// khugepaged may have come by.
	if err != nil || c.Collapsed != 0 || calls+c.Already == 0 {
		t.Errorf("stopped after %d calls: %+v, %v", calls, c, err)
	}
	c, err = r.Collapse(nil)
	if err != nil || c.Collapsed+c.Already+c.Sparse+c.Refused+c.Empty != count || c.Empty == 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if c.Refused > 0 {
		testenv.Missing(t, "%v", c.Reason)
	}
	if r, err := m.Residency(); err != nil || r.Huge+r.HugeUnknown < uint64(size) || r.Coverage() == 0 && r.Huge > 0 {
		t.Errorf("residency %+v, %v", r, err)
	}
	// AnyDensity needs no density that is valid.
	c, err = r.Collapse(&page.CollapseOptions{AnyDensity: true, MinDensity: -1})
	if err != nil || c.Collapsed+c.Refused != count {
		t.Errorf("of any density: %+v, %v", c, err)
	}
	if _, err := r.Collapse(&page.CollapseOptions{MinDensity: -1}); err == nil {
		t.Error("a negative density is taken")
	}
	if w, err := m.Windows(); err != nil || c.Refused == 0 && len(w) != count {
		t.Errorf("windows %+v, %v", w, err)
	}
}

func TestSizes(t *testing.T) {
	if err := page.AllowedSize(page.THP, 0); err == nil {
		t.Error("a page of 0 bytes is allowed")
	}
	if s, err := page.Sizes(page.Base); err != nil || len(s) != 1 || s[0] != os.Getpagesize() || page.Size() != s[0] {
		t.Errorf("base: %v, %v", s, err)
	}
	if err := page.AllowedSize(page.Base, page.Size()); err != nil {
		t.Error(err)
	}
	if page.HugeSize() == 0 {
		return
	}
	def, sized := page.Allowed(page.THP), page.AllowedSize(page.THP, page.HugeSize())
	if (def == nil) != (sized == nil) {
		t.Errorf("THP: by default %v, by size %v", def, sized)
	}
}
