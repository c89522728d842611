package goheap

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/sys"
)

// mayCollapse says what forbids collapsing memory that nobody advised.
func mayCollapse() error {
	if err := feature.Have(feature.Collapse); errors.Is(err, page.ErrNotSupported) {
		return err
	}
	if page.HugeSize() == 0 {
		return fmt.Errorf("%w: the kernel shows no size of huge pages: is /sys mounted?", page.ErrNotSupported)
	}
	const exceptAdvised = 2 // collapse is allowed then
	if off, err := sys.THPDisabled(); err == nil && off != 0 && off&exceptAdvised == 0 {
		return errors.New("huge pages are turned off for this process by prctl PR_SET_THP_DISABLE, perhaps in a parent (systemd: MemoryTHP=)")
	}
	return nil
}

// room says whether memory for n bytes can be mapped, which it tries: the runtime
// ends the program if it cannot.
func room(n uint64) error {
	p, err := sys.Mmap(uintptr(n), 0)
	if err != nil {
		return fmt.Errorf("no %d bytes of address space can be mapped (ulimit -v, vm.overcommit_memory): %w", n, err)
	}
	return sys.Munmap(uintptr(p), uintptr(n))
}

// threadTime returns the CPU time that the calling thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return time.Duration(time.Now().UnixNano()) // wall time is the more cautious
	}
	return time.Duration(t.Nano())
}
