package lab

import (
	"math/bits"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// freeWindows returns how many whole windows of free memory the machine has, 0
// when it does not say.
func freeWindows() int {
	b, err := procmem.New("").FreeBlocks()
	if err != nil {
		return 0
	}
	order := bits.Len(uint(page.WindowSize()/page.Size())) - 1
	return int(b.Pages(order) >> order)
}
