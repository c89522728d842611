package procmem

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// HugetlbPool is the pool of one size of hugetlb pages: memory that the
// administrator took away from all other use. Counts are pages.
// See Documentation/admin-guide/mm/hugetlbpage.rst.
type HugetlbPool struct {
	PageBytes uint64
	Pages     uint64 // in the pool
	Free      uint64 // of these, not in use
	Reserved  uint64 // of the free ones, promised to a mapping
}

// Unused returns the bytes of the pool that nobody uses or was promised.
func (p HugetlbPool) Unused() uint64 {
	if p.Free < p.Reserved {
		return 0
	}
	return (p.Free - p.Reserved) * p.PageBytes
}

const hugetlbDir = "sys/kernel/mm/hugepages"

// HugetlbPools reads the pools of all sizes, the smallest first. There are none
// when the kernel is built without hugetlb.
func (f FS) HugetlbPools() ([]HugetlbPool, error) {
	entries, err := os.ReadDir(f.path(hugetlbDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var pools []HugetlbPool
	for _, e := range entries {
		size, ok := parseHugetlbName(e.Name())
		if !ok {
			continue
		}
		p := HugetlbPool{PageBytes: size}
		for _, v := range []struct {
			file string
			dst  *uint64
		}{{"nr_hugepages", &p.Pages}, {"free_hugepages", &p.Free}, {"resv_hugepages", &p.Reserved}} {
			n, err := load(f.path(path.Join(hugetlbDir, e.Name(), v.file)), parseNumber)
			if err != nil {
				return nil, err
			}
			*v.dst = *n
		}
		if p.Pages > 0 && p.PageBytes > (1<<63)/p.Pages {
			return nil, fmt.Errorf("parse %s: %w", f.path(path.Join(hugetlbDir, e.Name())), errOverflow)
		}
		pools = append(pools, p)
	}
	slices.SortFunc(pools, func(a, b HugetlbPool) int { return cmp.Compare(a.PageBytes, b.PageBytes) })
	return pools, nil
}

// parseHugetlbName returns the page size that a directory such as
// hugepages-2048kB is about.
func parseHugetlbName(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, "hugepages-")
	if ok {
		digits, ok = strings.CutSuffix(digits, "kB")
	}
	n, err := strconv.ParseUint(digits, 10, 50)
	return n * 1024, ok && err == nil && n > 0
}
