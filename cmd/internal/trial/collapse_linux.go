package trial

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
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
	if !procmem.MayNice() {
		return fmt.Errorf("--thp collapse: %w: %s", unix.EPERM, procmem.Needs("sys_nice"))
	}
	return nil
}
