package page

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/base/unit"
)

// because puts the cause that was found, and the fix, before the kernel's error.
func because(err error, format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// explainMap says why memory of length bytes could not be mapped.
func explainMap(s system, err error, length uint64, o *Options, pageSize int) error {
	switch {
	case errors.Is(err, unix.EAGAIN):
		if n, limErr := s.limit(unix.RLIMIT_MEMLOCK); limErr == nil {
			return because(err, "the process locks all its memory (mlockall), and %s more than RLIMIT_MEMLOCK allows (%s): raise ulimit -l", "this would be", limitText(n))
		}
		return because(err, "too much memory is locked: raise RLIMIT_MEMLOCK (ulimit -l)")
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return because(err, "mmap is forbidden, probably by a seccomp filter or a security module such as SELinux")
	case errors.Is(err, unix.EINVAL) && o.Kind == HugeTLB:
		return because(err, "the kernel does not map hugetlb pages of %s here: see /%s", unit.Exact(uint64(pageSize)), hugetlbDir)
	case !errors.Is(err, unix.ENOMEM):
		return err
	}
	if o.Kind == HugeTLB {
		if p, poolErr := readPool(s, pageSize); poolErr == nil {
			if pages := (length + uint64(pageSize) - 1) / uint64(pageSize); pages > p.available() {
				return because(err, "the pool is too small: %s", p.grow(pageSize, pages))
			}
		}
	}
	if cause := tooManyMappings(s); cause != "" {
		return because(err, "%s", cause)
	}
	if n, limErr := s.limit(unix.RLIMIT_AS); limErr == nil && n != noLimit {
		if used, ok := addressSpace(s); !ok || used+length > n || used+length < used {
			return because(err, "the process may have %s of address space (RLIMIT_AS) and has %s: raise ulimit -v", limitText(n), unit.Size(used))
		}
	}
	if mode, modeErr := readNumber(s, "proc/sys/vm/overcommit_memory"); modeErr == nil {
		m, _ := s.files().Meminfo()
		switch {
		case mode == 2:
			return because(err, "the system promises no more memory than it has (vm.overcommit_memory is 2, see CommitLimit in /proc/meminfo): map less, or sysctl -w vm.overcommit_memory=0")
		case mode == 0 && m.MemTotal != nil && length > *m.MemTotal+swapOf(m.SwapTotal):
			return because(err, "that is more than the machine's memory and swap (%s): map less, or sysctl -w vm.overcommit_memory=1",
				unit.Size(*m.MemTotal+swapOf(m.SwapTotal)))
		}
	}
	return because(err, "no %s of free addresses in one piece, or no memory for page tables: map less", unit.Exact(length))
}

func swapOf(total *uint64) uint64 {
	if total == nil {
		return 0
	}
	return *total
}

// tooManyMappings returns cause and fix if the process has as many mappings as
// it may, else "".
func tooManyMappings(s system) string {
	limit, err := readNumber(s, "proc/sys/vm/max_map_count")
	if err != nil {
		return ""
	}
	maps, err := os.ReadFile(s.path("proc/self/maps"))
	if err != nil {
		return ""
	}
	// The kernel may need two more to split one, and counts some that it hides.
	n := uint64(bytes.Count(maps, []byte("\n")))
	if n+3 < limit {
		return ""
	}
	return fmt.Sprintf("the process has %d mappings, as many as vm.max_map_count allows: sudo sysctl -w vm.max_map_count=%d", n, 2*limit)
}

// addressSpace returns how much of it the process uses.
func addressSpace(s system) (uint64, bool) {
	text, err := readText(s, "proc/self/statm")
	if err != nil {
		return 0, false
	}
	var pages uint64
	if _, err := fmt.Sscan(text, &pages); err != nil {
		return 0, false
	}
	return pages * uint64(s.pageSize()), true
}

// explainAdvice says why madvise failed, for any advice.
func explainAdvice(s system, err error) error {
	switch {
	case errors.Is(err, unix.ENOMEM):
		if cause := tooManyMappings(s); cause != "" {
			return because(err, "%s", cause)
		}
		return because(err, "part of it is not mapped, or memory is short")
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return because(err, "madvise is forbidden, probably by a seccomp filter or a security module")
	}
	return err
}

// explainPopulate says why memory could not be had.
func explainPopulate(s system, err error, hugetlb bool) error {
	switch {
	case errors.Is(err, unix.EFAULT) && hugetlb:
		return because(err, "no hugetlb page where one was promised: the cgroup's limit of hugetlb pages is reached (hugetlb.*.max), or another process took them")
	case errors.Is(err, unix.EFAULT):
		return because(err, "part of it cannot be written to")
	case errors.Is(err, unix.EHWPOISON):
		return because(err, "the machine's memory has a hardware error there")
	}
	return explainAdvice(s, err)
}

// explainCollapse says why one window stays as it is.
func explainCollapse(s system, err error) error {
	switch {
	case errors.Is(err, unix.EINVAL):
		if off, offErr := s.thpDisabled(); offErr == nil && off != 0 {
			return because(err, "huge pages are turned off for this process (PR_SET_THP_DISABLE)")
		}
		return because(err, "no huge page may be there: the memory is advised against it (MADV_NOHUGEPAGE), not anonymous, or part of it is not mapped")
	case errors.Is(err, unix.ENOMEM):
		return because(err, "no huge page is free and none could be made: memory is full or fragmented (echo 1 > /proc/sys/vm/compact_memory, as root)")
	case errors.Is(err, unix.EBUSY):
		return because(err, "a huge page more would exceed the memory limit of the cgroup")
	case errors.Is(err, unix.EAGAIN):
		return because(err, "the kernel is using some of its pages: try again later")
	}
	return explainAdvice(s, err)
}

const noLimit = ^uint64(0)

func limitText(n uint64) string {
	if n == noLimit {
		return "no limit"
	}
	return unit.Exact(n)
}
