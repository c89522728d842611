package page

import (
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/sys"
	"github.com/foliomem/folio/internal/test/testenv"
)

// bothRoutes returns what PAGEMAP_SCAN and what pagemap with smaps say of r, and
// fails unless they agree.
func bothRoutes(t testing.TB, r Range, window int) (scan, entries Residency) {
	t.Helper()
	if err := feature.Have(feature.PagemapScan); err != nil {
		testenv.Missing(t, "%v", err)
	}
	o := &ResidencyOptions{Windows: true, Touched: true, Window: window}
	old := newFake(Size(), HugeSize())
	old.without = []feature.Feature{feature.PagemapScan}
	scan, err := residencyRange(host, r, o)
	if err != nil {
		t.Fatal(err)
	}
	entries, err = residencyRange(old, r, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]system{"PAGEMAP_SCAN": host, "pagemap": old} {
		var runs []Range
		o := &ResidencyOptions{Runs: func(run Range) { runs = append(runs, run) }}
		res, err := residencyRange(s, r, o)
		if err != nil {
			t.Fatal(err)
		}
		sum, last := uint64(0), r.Outward(Size()).Start
		for _, run := range runs {
			if run.Start < last || run.End <= run.Start {
				t.Errorf("%s: runs %v", name, runs)
				break
			}
			sum, last = sum+uint64(run.Len()), run.End
		}
		if sum != res.Resident || res.Resident != scan.Resident {
			t.Errorf("%s: runs of %d bytes, %d are resident, before %d", name, sum, res.Resident, scan.Resident)
		}
	}
	if scan.HugeUnknown != 0 {
		t.Errorf("PAGEMAP_SCAN does not know %d bytes", scan.HugeUnknown)
	}
	if scan.Huge < entries.Huge || scan.Huge > entries.Huge+entries.HugeUnknown {
		t.Errorf("PAGEMAP_SCAN says that %d bytes are huge, smaps %d to %d", scan.Huge, entries.Huge, entries.Huge+entries.HugeUnknown)
	}
	// Where smaps does not know which windows are huge, the rest must agree.
	same := entries
	same.Huge, same.HugeUnknown = scan.Huge, 0
	same.Windows = nil
	for i, w := range entries.Windows {
		if w.HugeUnknown && i < len(scan.Windows) {
			w.Huge, w.HugeUnknown = scan.Windows[i].Huge, false
		}
		same.Windows = append(same.Windows, w)
	}
	if !reflect.DeepEqual(scan, same) {
		t.Errorf("the routes differ:\nPAGEMAP_SCAN %+v\npagemap      %+v", scan, entries)
	}
	return scan, entries
}

func TestRoutesAgreeOnBasePages(t *testing.T) { retry(t, routesOnBasePages) }

func routesOnBasePages(t testing.TB) {
	p := Size()
	m := mapped(t, host, 3*WindowSize(), nil)
	r, b := m.Range(), m.Bytes()
	check := func(what string, r Range, want Residency) {
		t.Helper()
		got, entries := bothRoutes(t, r, 0)
		got.Windows = nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
		if entries.HugeUnknown != 0 {
			t.Errorf("%s: %d bytes may be huge", what, entries.HugeUnknown)
		}
	}
	size := func(pages int) uint64 { return uint64(pages * p) }
	check("nothing touched", r, Residency{})
	for i := 0; i < 100; i += 2 {
		b[i*p] = 1
	}
	check("every other page written", r, Residency{Resident: size(50), Touched: size(50)})
	if b[101*p]|b[102*p] != 0 {
		t.Error("not zero")
	}
	check("two read", r, Residency{Resident: size(50), Touched: size(50), Zero: size(2)})
	if err := m.Populate(200*p, 10*p); err != nil {
		t.Fatal(err)
	}
	check("ten committed", r, Residency{Resident: size(60), Touched: size(50), Zero: size(2)})
	check("a part", Range{r.Start + 1, r.Start + uintptr(3*p) - 1}, Residency{Resident: size(2), Touched: size(2)})
	check("no part", Range{r.Start, r.Start}, Residency{})
	for i := range b {
		b[i] = 1
	}
	check("all written", r, Residency{Resident: uint64(len(b)), Touched: uint64(len(b))})
}

func TestRoutesAgreeOnHugePages(t *testing.T) { retry(t, routesOnHugePages) }

func routesOnHugePages(t testing.TB) {
	m := hugeMapping(t, 3)
	size := uint64(HugeSize())
	r, b := m.Range(), m.Bytes()
	b[0], b[5*Size()], b[len(b)-1] = 1, 1, 1
	scan, entries := bothRoutes(t, r, 0)
	if scan.Huge != 3*size || scan.Resident != 3*size || scan.Touched != uint64(3*Size()) || scan.Coverage() != 1 {
		t.Errorf("residency %+v", scan)
	}
	if entries.HugeUnknown != 0 {
		t.Errorf("smaps: %d bytes may be huge although all are", entries.HugeUnknown)
	}
	// Other windows, and a range that cuts pages.
	for _, window := range []int{Size(), 64 << 10, int(2 * size)} {
		bothRoutes(t, r, max(window, Size()))
	}
	cut := Range{r.Start + uintptr(Size()), r.End - uintptr(size) - uintptr(Size())}
	scan, _ = bothRoutes(t, cut, 0)
	if scan.Huge != uint64(cut.Len()) || len(scan.Windows) != 2 || scan.Windows[0].Density() != 1 {
		t.Errorf("residency of a part %+v", scan)
	}
}

func TestRoutesAgreeOnMixedPages(t *testing.T) { retry(t, routesOnMixedPages) }

func routesOnMixedPages(t testing.TB) {
	needTHP(t)
	size := HugeSize()
	// One window each: huge, empty, all base pages, a few, cut by a release.
	m := mapped(t, host, 5*size, &Options{Kind: THP})
	r, b := m.Range(), m.Bytes()
	base := func(window, bytes int) {
		t.Helper()
		own := Range{r.Start + uintptr(window*size), r.Start + uintptr((window+1)*size)}
		if err := own.Advise(AdviseNoHuge); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < bytes; i += Size() {
			b[window*size+i] = 1
		}
		if err := own.Advise(AdviseHuge); err != nil {
			t.Fatal(err)
		}
	}
	b[0] = 1
	base(2, size)
	base(3, 3*Size())
	b[4*size] = 1
	if n, err := m.Release(4*size+Size(), Size(), ReleaseDontNeed, &ReleaseOptions{Split: true}); err != nil || n != Size() {
		t.Fatal(n, err)
	}
	scan, entries := bothRoutes(t, r, 0)
	if scan.Huge == 0 {
		testenv.Missing(t, "the kernel has no huge pages left: %+v", scan)
	}
	want := uint64(size + size + 3*Size() + size - Size())
	if scan.Huge != uint64(size) || scan.Resident != want || len(scan.Windows) != 4 {
		t.Errorf("residency %+v", scan)
	}
	// smaps knows how many of the dense windows are huge, not which.
	if entries.Huge != uint64(size) || entries.HugeUnknown != 0 || !entries.Windows[0].HugeUnknown ||
		!entries.Windows[1].HugeUnknown || entries.Windows[2].HugeUnknown {
		t.Errorf("by smaps %+v", entries)
	}
	// Of a part, only the bounds.
	_, entries = bothRoutes(t, Range{r.Start, r.Start + uintptr(size)}, 0)
	if entries.Huge != 0 || entries.HugeUnknown != uint64(size) {
		t.Errorf("a part by smaps %+v", entries)
	}
}

func TestRoutesAgreeOnTheHugeZeroPage(t *testing.T) {
	needTHP(t)
	use, err := os.ReadFile("/" + thpDir + "/use_zero_page")
	if err != nil || strings.TrimSpace(string(use)) != "1" {
		testenv.Missing(t, "there is no huge page of zeros here: %q, %v", use, err)
	}
	m := mapped(t, host, HugeSize(), &Options{Kind: THP})
	if m.Bytes()[0] != 0 {
		t.Error("not zero")
	}
	if v, ok := feature.Running(); ok && v.Less(feature.Version{6, 16, 0}) {
		if res, err := m.Residency(nil); err == nil && res.Zero == 0 {
			t.Skipf("PAGEMAP_SCAN of Linux %v does not know the huge page of zeros", v) // as Residency.Zero says
		}
	}
	scan, _ := bothRoutes(t, m.Range(), 0)
	if scan.Resident != 0 || scan.Zero != uint64(HugeSize()) {
		t.Errorf("residency %+v", scan)
	}
}

func TestRoutesAgreeOnTheGoHeap(t *testing.T) { retry(t, routesOnTheGoHeap) }

func routesOnTheGoHeap(t testing.TB) {
	slab := make([]byte, 3*WindowSize()+12345)
	for i := range slab {
		slab[i] = 1
	}
	scan, _ := bothRoutes(t, RangeOf(slab), 0)
	if scan.Resident != uint64(RangeOf(slab).Outward(Size()).Len()) {
		t.Errorf("residency %+v of %d bytes", scan, len(slab))
	}
	runtime.KeepAlive(slab)
}

func TestCategoryOfAnEntry(t *testing.T) {
	const present, swapped, file, exclusive = 1 << 63, 1 << 62, 1 << 61, 1 << 56
	anonymous, ordinary, hugetlb := &entries{anonymous: true}, &entries{}, &entries{hugetlb: true}
	for _, c := range []struct {
		in    *entries
		entry sys.Entry
		want  sys.Category
	}{
		{anonymous, 0, 0},
		{anonymous, swapped, sys.Swapped},
		{anonymous, present | exclusive, sys.Present},
		{anonymous, present, sys.Present | sys.ZeroPage},
		{anonymous, present | file, sys.Present | sys.ZeroPage}, // the huge one
		{anonymous, present | file | exclusive, sys.Present | sys.ZeroPage},
		{ordinary, present | file, sys.Present},
		{ordinary, present | exclusive, sys.Present}, // copied on write
		{ordinary, present, sys.Present | sys.ZeroPage},
		{hugetlb, present, sys.Present}, // as pages of 1GiB are
		{hugetlb, present | file | exclusive, sys.Present},
	} {
		if got := c.in.category(c.entry); got != c.want {
			t.Errorf("%#x in %+v is %#x, want %#x", uint64(c.entry), *c.in, uint64(got), uint64(c.want))
		}
	}
}

// hugetlbPool has a pool of free pages for the length of a test: it grows it if
// it may, and restores it. Tests of other packages that do the same at the same
// time hold the same lock, or each would restore what the other left.
func hugetlbPool(t *testing.T, size, pages int) {
	t.Helper()
	before, err := readPool(host, size)
	if err != nil {
		testenv.Missing(t, "no pool of hugetlb pages of %s: %v", unit.Exact(uint64(size)), err)
	}
	file, err := os.OpenFile("/"+poolDir(hugetlbDir, size)+"/nr_hugepages", os.O_WRONLY, 0)
	if err != nil {
		if before.available() < uint64(pages) {
			testenv.Missing(t, "cannot grow a pool of hugetlb pages: %v", err)
		}
		return
	}
	t.Cleanup(func() { file.Close() })
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if before, err = readPool(host, size); err != nil {
		t.Fatal(err)
	}
	if before.available() >= uint64(pages) {
		return
	}
	set := func(n uint64) error {
		_, err := file.WriteAt([]byte(strconv.FormatUint(n, 10)), 0)
		return err
	}
	t.Cleanup(func() {
		if err := set(before.total); err != nil {
			t.Error(err)
		}
		if after, err := readPool(host, size); err != nil || after.total != before.total {
			t.Errorf("%s is %d, was %d (%v)", file.Name(), after.total, before.total, err)
		}
	})
	if err := set(before.total + uint64(pages)); err != nil {
		testenv.Missing(t, "cannot grow a pool of hugetlb pages: %v", err)
	}
	if grown, err := readPool(host, size); err != nil || grown.available() < uint64(pages) {
		testenv.Missing(t, "the pool of hugetlb pages did not grow: %+v, %v", grown, err)
	}
}

func TestHugeTLB(t *testing.T) {
	sizes, err := PageSizes(HugeTLB)
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	size := sizes[0]
	hugetlbPool(t, size, 2)
	if err := Allowed(HugeTLB, size); err != nil {
		t.Error(err)
	}
	m := mapped(t, host, size+1, &Options{Kind: HugeTLB, PageSize: size})
	if m.Len() != 2*size || m.PageSize() != size {
		t.Errorf("%d bytes, page size %d", m.Len(), m.PageSize())
	}
	if res, err := m.Residency(nil); err != nil || res.Resident != 0 {
		t.Errorf("residency %+v, %v", res, err)
	}
	b := m.Bytes()
	b[size] = 1
	scan, entries := bothRoutes(t, m.Range(), size)
	if scan.Resident != uint64(size) || scan.Huge != uint64(size) || entries.Huge != uint64(size) || scan.Touched != uint64(Size()) {
		t.Errorf("residency %+v", scan)
	}
	if err := m.Populate(0, m.Len()); err != nil {
		t.Error(err)
	}
	if res, err := m.Residency(&ResidencyOptions{Windows: true}); err != nil || res.Huge != uint64(2*size) || len(res.Windows) != 2 {
		t.Errorf("residency %+v, %v", res, err)
	}
	if _, err := m.Release(0, m.Len(), ReleaseFree, nil); err == nil {
		t.Error("hugetlb pages can be freed lazily")
	}
	if n, err := m.Release(0, m.Len(), ReleaseDontNeed, nil); err == nil && n == m.Len() {
		if b[size] != 0 {
			t.Error("not zero after it was released")
		}
	} else if v, ok := feature.Running(); !ok || !v.Less(feature.Version{5, 18, 0}) {
		t.Errorf("Release = %d, %v", n, err)
	}
	// Two more than the pool has.
	p, err := readPool(host, size)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Map((int(p.available())+2)*size, &Options{Kind: HugeTLB, PageSize: size})
	if want := "nr_hugepages"; err == nil || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "echo "+strconv.Itoa(int(p.total)+2)) {
		t.Errorf("error %v, want one with %q and a pool of %d", err, want, p.total+2)
	}
}
