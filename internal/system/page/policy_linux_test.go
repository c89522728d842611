package page

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/system/feature"
)

func TestAllowed(t *testing.T) {
	const mthp = 64 << 10
	for _, c := range []struct {
		name     string
		files    map[string]string
		kind     Kind
		size     int
		disabled int
		want     string // "" allows
	}{
		{"base", nil, Base, 0, 0, ""},
		{"madvise", map[string]string{thpDir + "/enabled": "always [madvise] never"}, THP, 0, 0, ""},
		{"always", map[string]string{thpDir + "/enabled": "[always] madvise never"}, THP, 0, 0, ""},
		{"never", map[string]string{thpDir + "/enabled": "always madvise [never]"}, THP, 0, 0, "echo madvise > /" + thpDir + "/enabled"},
		{"own never", map[string]string{thpDir + "/enabled": "[always] madvise never",
			poolDir(thpDir, 2<<20) + "/enabled": "always inherit madvise [never]"}, THP, 0, 0,
			"echo inherit > /" + poolDir(thpDir, 2<<20) + "/enabled"},
		{"own inherits never", map[string]string{thpDir + "/enabled": "always madvise [never]",
			poolDir(thpDir, 2<<20) + "/enabled": "always [inherit] madvise never"}, THP, 0, 0, "echo madvise"},
		{"own overrides never", map[string]string{thpDir + "/enabled": "always madvise [never]",
			poolDir(thpDir, mthp) + "/enabled": "always inherit [madvise] never"}, THP, mthp, 0, ""},
		{"disabled", map[string]string{thpDir + "/enabled": "[always] madvise never"}, THP, 0, 1, "PR_SET_THP_DISABLE"},
		{"disabled unless advised", map[string]string{thpDir + "/enabled": "[always] madvise never"}, THP, 0, 3, ""},
		{"empty pool", pool5(0, 0, 0, 0, 0), HugeTLB, 2 << 20, 0, "0 of 0 pages of 2MiB are free: echo 1 > "},
		{"reserved pool", pool5(3, 2, 2, 0, 0), HugeTLB, 0, 0, "0 of 3 pages of 2MiB are free: echo 4 > "},
		{"free pool", pool5(3, 2, 1, 0, 0), HugeTLB, 0, 0, ""},
		{"pool that may grow", pool5(0, 0, 0, 0, 1), HugeTLB, 0, 0, ""},
		{"pool that grew", pool5(1, 0, 0, 1, 1), HugeTLB, 0, 0, "0 of 1 pages"},
	} {
		f := newFake(os.Getpagesize(), hugeSizeHere)
		f.root, f.disabled = writeFiles(t, c.files), c.disabled
		err := allowed(f, c.kind, c.size)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err != nil && errors.Is(err, ErrNotSupported) {
			t.Errorf("%s: a policy is taken for a lack of a capability: %v", c.name, err)
		}
	}
	f := newFake(os.Getpagesize(), 0)
	f.root = writeFiles(t, nil)
	f.without = []feature.Feature{feature.THP, feature.HugeTLB}
	for _, k := range []Kind{THP, HugeTLB} {
		if err := allowed(f, k, 0); !errors.Is(err, ErrNotSupported) {
			t.Errorf("%v on a kernel that has none: %v", k, err)
		}
	}
	if err := allowed(f, 7, 0); err == nil {
		t.Error("an unknown kind is allowed")
	}
}

func pool5(total, free, reserved, surplus, overcommit int) map[string]string {
	files := map[string]string{}
	for name, n := range map[string]int{"nr": total, "free": free, "resv": reserved, "surplus": surplus, "nr_overcommit": overcommit} {
		files[poolDir(hugetlbDir, 2<<20)+"/"+name+"_hugepages"] = string(rune('0'+n)) + "\n"
	}
	return files
}

func TestPageSizes(t *testing.T) {
	f := newFake(os.Getpagesize(), hugeSizeHere)
	f.root = writeFiles(t, map[string]string{
		thpDir + "/hugepages-64kB/enabled":                            "never",
		thpDir + "/hugepages-2048kB/enabled":                          "never",
		thpDir + "/khugepaged/defrag":                                 "1",
		hugetlbDir + "/hugepages-1048576kB/nr_hugepages":              "0",
		hugetlbDir + "/hugepages-2048kB/nr_hugepages":                 "0",
		hugetlbDir + "/hugepages-xkB/nr_hugepages":                    "0",
		hugetlbDir + "/hugepages-99999999999999999999kB/nr_hugepages": "0",
		"proc/meminfo": "Hugepagesize: 1048576 kB\n",
	})
	for kind, want := range map[Kind][]int{Base: {f.page}, THP: {64 << 10, 2 << 20}, HugeTLB: {2 << 20, 1 << 30}} {
		if got, err := pageSizes(f, kind); err != nil || !slices.Equal(got, want) {
			t.Errorf("sizes of %v: %v, %v; want %v", kind, got, err, want)
		}
	}
	for kind, want := range map[Kind]int{Base: f.page, THP: 2 << 20, HugeTLB: 1 << 30} {
		if got, err := pageSizeOf(f, kind, 0); err != nil || got != want {
			t.Errorf("default size of %v: %v, %v; want %v", kind, got, err, want)
		}
	}
	f.root = writeFiles(t, nil)
	if got, err := pageSizes(f, THP); err != nil || !slices.Equal(got, []int{2 << 20}) {
		t.Errorf("sizes of thp before 6.8: %v, %v", got, err)
	}
}

func TestHugeSizeIsReadOnce(t *testing.T) {
	var l linux
	first := l.hugeSize()
	if first == 0 {
		t.Skip("no transparent huge pages here, or no /sys") // nothing to compare
	}
	if l.huge.Load() != int64(first)+1 || l.hugeSize() != first || first != HugeSize() {
		t.Errorf("%d, then %d", first, l.hugeSize())
	}
}
