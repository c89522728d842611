package page

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/feature"
)

const hugetlbDir = "sys/kernel/mm/hugepages"

// poolDir is where the kernel shows the settings of one page size.
func poolDir(dir string, size int) string { return fmt.Sprintf("%s/hugepages-%dkB", dir, size/1024) }

func pageSizes(s system, k Kind) ([]int, error) {
	switch k {
	case Base:
		return []int{s.pageSize()}, nil
	case THP:
		huge := s.hugeSize()
		if huge == 0 {
			return nil, fmt.Errorf("sizes of thp: %w", noTHP(s))
		}
		sizes, err := poolSizes(s, thpDir)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(sizes, huge) { // kernels before 6.8 have one size and no directories
			sizes = append(sizes, huge)
			slices.Sort(sizes)
		}
		return sizes, nil
	case HugeTLB:
		sizes, err := poolSizes(s, hugetlbDir)
		if err != nil {
			return nil, err
		}
		if len(sizes) == 0 {
			return nil, fmt.Errorf("sizes of hugetlb: %w", notSupported(s, feature.HugeTLB))
		}
		return sizes, nil
	}
	return nil, fmt.Errorf("sizes of %v: no such kind", k)
}

// poolSizes lists the directories hugepages-NkB. No directory at all is not an error.
func poolSizes(s system, dir string) ([]int, error) {
	entries, err := os.ReadDir(s.path(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var sizes []int
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), "hugepages-")
		if !ok {
			continue
		}
		number, ok = strings.CutSuffix(number, "kB")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n <= 0 || n > math.MaxInt/1024 {
			continue // larger than an address space of 32 bits
		}
		sizes = append(sizes, n*1024)
	}
	slices.Sort(sizes)
	return sizes, nil
}

// pageSizeOf returns the page size that is meant by size, which may be 0.
func pageSizeOf(s system, k Kind, size int) (int, error) {
	sizes, err := pageSizes(s, k)
	if err != nil {
		return 0, err
	}
	if size == 0 {
		switch k {
		case THP:
			return s.hugeSize(), nil
		case HugeTLB:
			if m, err := s.files().Meminfo(); err == nil && m.HugePageSize != nil && slices.Contains(sizes, int(*m.HugePageSize)) {
				return int(*m.HugePageSize), nil
			}
		}
		return sizes[0], nil
	}
	if !slices.Contains(sizes, size) {
		var list []string
		for _, n := range sizes {
			list = append(list, unit.Exact(uint64(n)))
		}
		return 0, fmt.Errorf("%v pages of %s: %w here: this kernel has %s", k, unit.Exact(uint64(max(size, 0))),
			ErrNotSupported, strings.Join(list, ", "))
	}
	return size, nil
}

// notSupported says that the kernel lacks f, or why one cannot tell.
func notSupported(s system, f feature.Feature) error {
	if err := s.have(f); err != nil {
		return err
	}
	return &feature.Error{Feature: f} // it did not look so, but it is not there
}

// noTHP says why hugeSize is 0.
func noTHP(s system) error {
	if s.have(feature.THP) == nil {
		return fmt.Errorf("%w: cannot read /%s/hpage_pmd_size: is /sys mounted?", ErrNotSupported, thpDir)
	}
	return notSupported(s, feature.THP)
}

func allowed(s system, k Kind, size int) error {
	size, err := pageSizeOf(s, k, size)
	if err != nil {
		return err
	}
	switch k {
	case THP:
		return allowedTHP(s, size)
	case HugeTLB:
		return allowedHugeTLB(s, size)
	}
	return nil
}

func allowedTHP(s system, size int) error {
	never := func(text string) bool { return strings.Contains(text, "[never]") }
	// Kernels before 6.8 have no file for each size; then the one for all decides.
	own := poolDir(thpDir, size) + "/enabled"
	policy, err := readText(s, own)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if never(policy) {
		return fmt.Errorf("thp of %s: /%s is never: echo inherit > /%s (or madvise), as root", unit.Exact(uint64(size)), own, own)
	}
	if policy == "" || strings.Contains(policy, "[inherit]") {
		const all = thpDir + "/enabled"
		if policy, err = readText(s, all); err != nil {
			return err
		}
		if never(policy) {
			return fmt.Errorf("thp: /%s is never: echo madvise > /%s, as root", all, all)
		}
	}
	// The third value allows memory that was advised, as ours is (kernel 6.18+).
	const exceptAdvised = 2
	if off, err := s.thpDisabled(); err == nil && off != 0 && off&exceptAdvised == 0 {
		return errors.New("thp: turned off for this process by prctl PR_SET_THP_DISABLE, perhaps in a parent (systemd: MemoryTHP=)")
	}
	return nil
}

// pool is a pool of hugetlb pages, in pages.
type pool struct{ total, free, reserved, surplus, overcommit uint64 }

func readPool(s system, size int) (p pool, err error) {
	dir := poolDir(hugetlbDir, size)
	for _, f := range []struct {
		name string
		dst  *uint64
	}{
		{"nr_hugepages", &p.total}, {"free_hugepages", &p.free}, {"resv_hugepages", &p.reserved},
		{"surplus_hugepages", &p.surplus}, {"nr_overcommit_hugepages", &p.overcommit},
	} {
		if *f.dst, err = readNumber(s, dir+"/"+f.name); err != nil {
			return pool{}, err
		}
	}
	return p, nil
}

// available is how many pages can be mapped. Those free but reserved belong to
// mappings that did not use them yet.
func (p pool) available() uint64 {
	n := p.free - min(p.reserved, p.free)
	return n + p.overcommit - min(p.surplus, p.overcommit)
}

// grow says how to make place for more pages than there are.
func (p pool) grow(size int, pages uint64) string {
	have := p.available()
	return fmt.Sprintf("%d of %d pages of %s are free: echo %d > /%s/nr_hugepages, as root, and read it back: fragmented memory may give fewer",
		have, p.total, unit.Exact(uint64(size)), p.total+pages-min(have, pages), poolDir(hugetlbDir, size))
}

func allowedHugeTLB(s system, size int) error {
	p, err := readPool(s, size)
	if err != nil {
		return err
	}
	if p.available() == 0 {
		return fmt.Errorf("hugetlb: %s", p.grow(size, 1))
	}
	return nil
}
