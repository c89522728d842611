package trial

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/page"
)

// MayCollapse says what forbids THPCollapse here, and how to get it; nil if nothing
// that can be known before a program runs.
func MayCollapse() error {
	if err := feature.Have(feature.Collapse); err != nil {
		return fmt.Errorf("--thp collapse: %w", err)
	}
	if page.HugeSize() == 0 {
		return fmt.Errorf("--thp collapse: %w: the kernel shows no size of huge pages: is /sys mounted?", page.ErrNotSupported)
	}
	var caps [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &caps[0]); err != nil {
		return fmt.Errorf("--thp collapse: read the capabilities: %w", err)
	}
	if caps[0].Effective&(1<<unix.CAP_SYS_NICE) == 0 {
		return fmt.Errorf("--thp collapse: needs CAP_SYS_NICE: sudo setcap cap_sys_nice+ep FILE, or docker run --cap-add SYS_NICE: %w",
			unix.EPERM)
	}
	return nil
}
