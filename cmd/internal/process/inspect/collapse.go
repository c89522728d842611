package inspect

import (
	"fmt"
	"os"

	"github.com/foliomem/folio/internal/system/procmem"
)

// CollapseCommand is the command by which this user can put a process on huge pages, its Go
// heap or all that is anonymous; "" where not even sudo gives the right (root of a container
// without CAP_SYS_NICE).
func CollapseCommand(pid int, goHeap bool) string {
	return collapseCommand(pid, goHeap, procmem.MayNice(), os.Geteuid() == 0)
}

func collapseCommand(pid int, goHeap, mayNice, root bool) string {
	sudo, all := "", ""
	switch {
	case mayNice:
	case root:
		return ""
	default:
		sudo = "sudo "
	}
	if !goHeap {
		all = "--all-anonymous "
	}
	return fmt.Sprintf("%sfolio collapse %s%d", sudo, all, pid)
}
