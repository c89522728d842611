package page

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/feature"
)

func adviseRange(s system, r Range, a Advice) error {
	var advice int
	switch a {
	case AdviseHuge:
		advice = unix.MADV_HUGEPAGE
	case AdviseNoHuge:
		advice = unix.MADV_NOHUGEPAGE
	default:
		return fmt.Errorf("no such advice: %v", a)
	}
	if r = r.Outward(s.pageSize()); r.Len() == 0 {
		return nil
	}
	err := s.madvise(r.Start, r.Len(), advice)
	if errors.Is(err, unix.EINVAL) {
		if s.hugeSize() == 0 {
			return noTHP(s)
		}
		return because(err, "this memory cannot have transparent huge pages")
	}
	return explainAdvice(s, err)
}

func populateRange(s system, r Range, hugetlb bool) error {
	if r = r.Outward(s.pageSize()); r.Len() == 0 {
		return nil
	}
	err := s.madvise(r.Start, r.Len(), unix.MADV_POPULATE_WRITE)
	if errors.Is(err, unix.EINVAL) {
		if have := s.have(feature.PopulateWrite); have != nil {
			return have
		}
		return because(err, "part of it cannot be written to, or is not ordinary memory")
	}
	return explainPopulate(s, err, hugetlb)
}

// releases is how each way of releasing is asked for, and what the kernel
// must have for it.
var releases = map[Release]struct {
	advice int
	since  feature.Feature
	every  bool // every kernel has it
}{
	ReleaseDontNeed: {advice: unix.MADV_DONTNEED, every: true},
	ReleaseFree:     {advice: unix.MADV_FREE, since: feature.Free},
	ReleaseCold:     {advice: unix.MADV_COLD, since: feature.Cold},
	ReleasePageOut:  {advice: unix.MADV_PAGEOUT, since: feature.PageOut},
}

func releaseRange(s system, r Range, how Release, hugetlb bool) error {
	way, ok := releases[how]
	if !ok {
		return fmt.Errorf("no such way: %v", how)
	}
	if hugetlb && how != ReleaseDontNeed {
		return fmt.Errorf("%v: %w for hugetlb pages, which are never swapped: use dontneed", how, ErrNotSupported)
	}
	if r.Len() == 0 {
		return nil
	}
	err := s.madvise(r.Start, r.Len(), way.advice)
	if errors.Is(err, unix.EINVAL) {
		if hugetlb {
			return fmt.Errorf("%v: %w for hugetlb pages by this kernel: needs Linux 5.18 or newer: %w", how, ErrNotSupported, err)
		}
		if !way.every {
			if have := s.have(way.since); have != nil {
				return have
			}
		}
		return because(err, "%v: the memory is locked (mlock), hugetlb, or not anonymous", how)
	}
	return explainAdvice(s, err)
}
