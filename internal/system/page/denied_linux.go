package page

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
)

// denied says why this process may not collapse the memory of another, and how to get
// the right. err is the kernel's word for it: EACCES where the other process may not be
// looked at, EPERM where it may.
func (r *remote) denied(err error) error {
	nice := procmem.MayNice()
	fs := procmem.New("")
	switch looks := err != unix.EACCES; {
	case looks && nice:
		return fmt.Errorf("%s: %w", procmem.Refuses, err)
	case looks:
		return fmt.Errorf("%s: %w", procmem.Needs("sys_nice"), err)
	case nice || procmem.MayTrace():
		return fmt.Errorf("%s: %w", fs.Denied(r.pid), err)
	}
	return fmt.Errorf("%s: %w", fs.Denied(r.pid, "sys_nice"), err)
}
