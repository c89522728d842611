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
	why := fs.Denied(r.pid, "sys_nice")
	switch looks := err != unix.EACCES; {
	case looks && nice:
		why = procmem.Refuses
	case looks:
		why = procmem.Needs("sys_nice")
	case nice || procmem.MayTrace():
		why = fs.Denied(r.pid)
	}
	return fmt.Errorf("%w: %s", err, why)
}
