package procmem

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestHugetlbPools(t *testing.T) {
	root := t.TempDir()
	if pools, err := New(root).HugetlbPools(); len(pools) != 0 || err != nil {
		t.Errorf("a kernel without: %v, %v", pools, err)
	}
	pool := func(name string, n ...uint64) {
		for i, file := range []string{"nr_hugepages", "free_hugepages", "resv_hugepages"} {
			write(t, root, hugetlbDir+"/"+name+"/"+file, fmt.Sprintln(n[i]))
		}
	}
	pool("hugepages-2048kB", 1024, 1000, 200)
	pool("hugepages-1048576kB", 2, 2, 0)
	pool("hugepages-64kB", 0, 0, 0)
	pool("other", 9, 9, 9)
	pools, err := New(root).HugetlbPools()
	if err != nil || len(pools) != 3 || pools[0].PageBytes != 64<<10 ||
		pools[1] != (HugetlbPool{2 << 20, 1024, 1000, 200}) || pools[2].PageBytes != 1<<30 {
		t.Errorf("HugetlbPools = %+v, %v", pools, err)
	}
	if got := pools[1].Unused(); got != 800*2<<20 {
		t.Errorf("unused %d", got)
	}
	// The files are read one after another.
	if got := (HugetlbPool{2 << 20, 10, 1, 2}).Unused(); got != 0 {
		t.Errorf("more reserved than free: unused %d", got)
	}
	write(t, root, hugetlbDir+"/hugepages-2048kB/nr_hugepages", "many\n")
	if _, err := New(root).HugetlbPools(); err == nil {
		t.Error("many pages are not an error")
	}
	pool("hugepages-2048kB", 1<<62, 0, 0)
	if _, err := New(root).HugetlbPools(); !errors.Is(err, errOverflow) {
		t.Errorf("too many pages: %v", err)
	}
	write(t, root, hugetlbDir+"/hugepages-32768kB/x", "")
	if _, err := New(root).HugetlbPools(); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errOverflow) {
		t.Errorf("a pool without files: %v", err)
	}
}

func FuzzHugetlbName(f *testing.F) {
	for _, name := range []string{"hugepages-2048kB", "hugepages-1048576kB", "hugepages-kB", "hugepages-9999999999999999kB"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if size, ok := parseHugetlbName(name); ok && (size == 0 || size%1024 != 0) {
			t.Errorf("%q: %d bytes", name, size)
		}
	})
}
