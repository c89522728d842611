package page

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/test/testenv"
)

// needTHP is for tests of which nothing is left without huge pages.
func needTHP(t testing.TB) {
	t.Helper()
	if err := Allowed(THP, 0); err != nil {
		testenv.Missing(t, "%v", err)
	}
}

func haveCollapse() error { return feature.Have(feature.Collapse) }

// huge maps memory that is in huge pages.
func hugeMapping(t testing.TB, windows int) *Mapping {
	t.Helper()
	needTHP(t)
	m := mapped(t, host, windows*HugeSize(), &Options{Kind: THP, Commit: Touch})
	res, err := m.Residency(nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Huge+res.HugeUnknown < uint64(m.Len()) {
		testenv.Missing(t, "the kernel has no huge pages left: %+v", res)
	}
	return m
}

func TestBasePagesStayBase(t *testing.T) {
	m := mapped(t, host, 2*WindowSize(), &Options{Commit: Populate})
	res, err := m.Residency(nil)
	if err != nil || res.Resident != uint64(m.Len()) || res.Huge != 0 || res.HugeUnknown != 0 {
		t.Errorf("residency %+v, %v", res, err)
	}
	if c, err := m.Collapse(0, m.Len(), nil); !errors.Is(err, ErrNotSupported) || c != (Collapsed{}) {
		t.Errorf("Collapse = %+v, %v", c, err)
	}
}

func TestPopulateGivesHugePages(t *testing.T) {
	needTHP(t)
	m := mapped(t, host, 4*HugeSize(), &Options{Kind: THP, Commit: Populate, Name: "test"})
	res, err := m.Residency(&ResidencyOptions{Windows: true, Touched: true})
	if err != nil {
		t.Fatal(err)
	}
	if res.Huge == 0 {
		testenv.Missing(t, "the kernel has no huge pages left: %+v", res)
	}
	if res.Resident != uint64(m.Len()) || res.Touched != 0 || len(res.Windows) != 4 {
		t.Errorf("residency %+v", res)
	}
	if m.PageSize() != HugeSize() {
		t.Errorf("page size %d", m.PageSize())
	}
}

func TestReleaseDontNeed(t *testing.T) { retry(t, releaseDontNeed) }

func releaseDontNeed(t testing.TB) {
	m := hugeMapping(t, 3)
	size := HugeSize()
	b := m.Bytes()
	for i := range b {
		b[i] = 1
	}
	// The range begins and ends inside of pages: only the one in the middle goes.
	n, err := m.Release(size-1, size+2, ReleaseDontNeed, nil)
	if err != nil || n != size {
		t.Fatalf("Release = %d, %v", n, err)
	}
	if res, err := m.Residency(nil); err != nil || res.Huge+res.HugeUnknown != uint64(2*size) || res.Resident != uint64(2*size) {
		t.Errorf("residency %+v, %v", res, err)
	}
	for i, want := range map[int]byte{size - 1: 1, size: 0, 2*size - 1: 0, 2 * size: 1} {
		if b[i] != want {
			t.Errorf("byte %d is %d, want %d", i, b[i], want)
		}
	}
	// A base page out of the first splits it.
	if n, err := m.Release(Size(), Size(), ReleaseDontNeed, &ReleaseOptions{Split: true}); err != nil || n != Size() {
		t.Fatalf("Release of a part = %d, %v", n, err)
	}
	res, err := m.Residency(&ResidencyOptions{Windows: true})
	if err != nil || res.Windows[0].Huge != 0 || res.Windows[0].Resident != uint64(size-Size()) {
		t.Errorf("residency %+v, %v", res, err)
	}
	if n, err := m.Release(0, m.Len(), ReleaseDontNeed, nil); err != nil || n != m.Len() {
		t.Errorf("Release of all = %d, %v", n, err)
	}
}

func TestReleaseFreeColdPageOut(t *testing.T) {
	for _, how := range []Release{ReleaseFree, ReleaseCold, ReleasePageOut} {
		m := mapped(t, host, 64*Size(), nil)
		b := m.Bytes()
		for i := range b {
			b[i] = 7
		}
		n, err := m.Release(0, m.Len(), how, nil)
		if errors.Is(err, ErrNotSupported) {
			testenv.Missing(t, "%v", err)
		}
		if err != nil || n != m.Len() {
			t.Errorf("%v = %d, %v", how, n, err)
		}
		for i := 0; i < len(b); i += Size() {
			if got := b[i]; got != 7 && (how != ReleaseFree || got != 0) {
				t.Fatalf("%v: byte %d is %d", how, i, got)
			}
		}
	}
}

func TestRangeOfTheGoHeap(t *testing.T) {
	needTHP(t)
	size := HugeSize()
	slab := make([]uint64, 8*size/8)
	r := RangeOf(slab)
	if err := r.Outward(size).Advise(AdviseHuge); err != nil {
		t.Fatal(err)
	}
	inner := r.Inward(size)
	if inner.Len() < uintptr(7*size) {
		t.Fatalf("%v has windows %v", r, inner)
	}
	for i := range slab {
		slab[i] = uint64(i)
	}
	res, err := inner.Residency(&ResidencyOptions{Windows: true, Touched: true})
	if err != nil || res.Resident != uint64(inner.Len()) || len(res.Windows) != int(inner.Len())/size {
		t.Errorf("residency %+v, %v", res, err)
	}
	if want := res.Resident; res.Touched != want {
		t.Errorf("touched %d, want %d", res.Touched, want)
	}
	if err := r.Populate(); err != nil && !errors.Is(err, ErrNotSupported) {
		t.Error(err)
	}
	if haveCollapse() == nil {
		c, err := r.Collapse(nil)
		if err != nil || c.Collapsed+c.Already+c.Refused != int(inner.Len())/size {
			t.Errorf("Collapse = %+v, %v", c, err)
		}
	}
	for i := range slab {
		if slab[i] != uint64(i) {
			t.Fatalf("element %d is %d", i, slab[i])
		}
	}
	runtime.KeepAlive(slab)
}

func TestCollapseOnTheKernel(t *testing.T) { retry(t, collapseOnTheKernel) }

func collapseOnTheKernel(t testing.TB) {
	needTHP(t)
	if err := haveCollapse(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	size := HugeSize()
	base := mapped(t, host, 6*size, nil) // so that faults give base pages
	whole := base.Range().Outward(size)
	start := whole.Start
	if start < base.Range().Start {
		start += uintptr(size)
	}
	windows := Range{start, start + uintptr(5*size)}
	b := base.Bytes()[start-base.Range().Start:][:5*size]
	fill := func(window, bytes int) {
		for i := range b[window*size:][:bytes] {
			b[window*size+i] = byte(i>>12) | 1
		}
	}
	fill(0, size)
	fill(1, Size())
	// 2 stays empty
	fill(3, size)
	fill(4, size)
	refused, err := windows.Collapse(nil)
	if err != nil || refused.Refused != 3 || refused.Collapsed != 0 || !errors.Is(refused.Reason, unix.EINVAL) {
		t.Errorf("Collapse of memory that is advised against it = %+v, %v", refused, err)
	}
	if err := windows.Advise(AdviseHuge); err != nil {
		t.Fatal(err)
	}
	if c, err := (Range{start + uintptr(3*size), windows.End}).Collapse(nil); err != nil || c.Collapsed+c.Refused != 2 {
		t.Fatalf("Collapse = %+v, %v", c, err)
	} else if c.Refused > 0 && errors.Is(c.Reason, unix.ENOMEM) {
		testenv.Missing(t, "%v", c.Reason)
	}
	c, err := windows.Collapse(nil)
	if err != nil || c != (Collapsed{Collapsed: 1, Already: 2, Empty: 1, Sparse: 1}) {
		t.Errorf("Collapse = %+v, %v", c, err)
	}
	res, err := windows.Residency(&ResidencyOptions{Windows: true, Touched: true})
	if err != nil || res.Huge+res.HugeUnknown != uint64(3*size) || res.Resident != uint64(3*size+Size()) || res.Touched != res.Resident {
		t.Errorf("residency %+v, %v", res, err)
	}
	// Now the sparse one as well: the bloat is visible, and it can be told.
	if c, err := windows.Collapse(&CollapseOptions{MinDensity: 1.0 / 1024 / 1024}); err != nil || c.Collapsed != 1 || c.Already != 3 {
		t.Errorf("Collapse of any density = %+v, %v", c, err)
	}
	res, err = windows.Residency(&ResidencyOptions{Touched: true})
	if err != nil || res.Resident != uint64(4*size) || res.Touched != uint64(3*size+Size()) {
		t.Errorf("residency %+v, %v", res, err)
	}
	for i := range b[:size] {
		if b[i] != byte(i>>12)|1 {
			t.Fatalf("byte %d became %d", i, b[i])
		}
	}
}

func TestEveryTHPSize(t *testing.T) {
	needTHP(t)
	sizes, err := PageSizes(THP)
	if err != nil || len(sizes) == 0 {
		t.Fatal(sizes, err)
	}
	for _, size := range sizes {
		m := mapped(t, host, 3*size+1, &Options{Kind: THP, PageSize: size, Commit: Populate})
		if m.PageSize() != size || m.Len() != 4*size || m.Range().Start%uintptr(size) != 0 {
			t.Errorf("%v with pages of %s: %d bytes at %v", m.Kind(), unit.Exact(uint64(size)), m.Len(), m.Range())
		}
		if res, err := m.Residency(nil); err != nil || res.Resident != uint64(4*size) {
			t.Errorf("residency %+v, %v", res, err)
		}
	}
}

func TestUseAfterClose(t *testing.T) {
	m, err := Map(1, &Options{Name: "gone", Commit: Ahead})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.PopulateAhead(1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for name, use := range map[string]func(){
		"Bytes": func() { m.Bytes() }, "Len": func() { m.Len() }, "Kind": func() { m.Kind() },
		"PageSize": func() { m.PageSize() }, "Range": func() { m.Range() },
		"Populate": func() { m.Populate(0, 0) }, "PopulateAhead": func() { m.PopulateAhead(1) }, "Release": func() { m.Release(0, 0, ReleaseDontNeed, nil) },
		"Collapse": func() { m.Collapse(0, 0, nil) }, "Residency": func() { m.Residency(nil) },
	} {
		func() {
			defer func() {
				want := "page: " + name + ` of a mapping that was closed "gone"`
				if got := recover(); got != want {
					t.Errorf("%s after Close: %v, want a panic with %q", name, got, want)
				}
			}()
			use()
		}()
	}
}

func TestManyGoroutines(t *testing.T) {
	const parts = 8
	size := 16 * Size()
	m := mapped(t, host, parts*size, nil)
	var wg sync.WaitGroup
	for part := range parts {
		wg.Go(func() {
			own := m.Bytes()[part*size:][:size]
			for round := range 20 {
				if err := m.Populate(part*size, size); err != nil {
					t.Error(err)
				}
				for i := range own {
					own[i] = byte(round)
				}
				if _, err := m.Residency(&ResidencyOptions{Windows: true, Touched: true}); err != nil {
					t.Error(err)
				}
				if bytes.Count(own, []byte{byte(round)}) != size {
					t.Error("contents changed")
				}
				if n, err := m.Release(part*size, size, ReleaseDontNeed, nil); err != nil || n != size {
					t.Errorf("Release = %d, %v", n, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestMappedCounts(t *testing.T) {
	n, size := Mapped()
	m, err := Map(3*Size()-1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n2, size2 := Mapped(); n2 != n+1 || size2 != size+uint64(3*Size()) {
		t.Errorf("Mapped() = %d, %d, then %d, %d", n, size, n2, size2)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if n2, size2 := Mapped(); n2 != n || size2 != size {
		t.Errorf("Mapped() = %d, %d, then %d, %d", n, size, n2, size2)
	}
}

func TestRangeMethodsAllocateLittle(t *testing.T) {
	m := mapped(t, host, 8*WindowSize(), &Options{Commit: Touch})
	r := m.Range()
	for name, c := range map[string]struct {
		most float64
		call func() error
	}{
		"Advise":    {0, func() error { return r.Advise(AdviseNoHuge) }},
		"Populate":  {0, r.Populate},
		"Release":   {0, func() error { _, err := r.Release(ReleaseCold, nil); return err }},
		"Residency": {4, func() error { _, err := r.Residency(nil); return err }},
	} {
		if err := c.call(); err != nil {
			testenv.Missing(t, "%s: %v", name, err)
		}
		if got := testing.AllocsPerRun(20, func() { c.call() }); got > c.most {
			t.Errorf("%s allocates %v times, want at most %v", name, got, c.most)
		}
	}
}

func TestNameIsShown(t *testing.T) {
	if err := feature.Have(feature.AnonName); err != nil {
		t.Skip(err) // a matter of how the kernel was built; see the test of package feature
	}
	mapped(t, host, 1, &Options{Name: "folio test"})
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil || !strings.Contains(string(maps), "[anon:folio test]") {
		t.Errorf("not in /proc/self/maps (%v)", err)
	}
}
