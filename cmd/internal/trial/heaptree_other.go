//go:build linux && !(amd64 || arm64)

package trial

import (
	"time"

	"github.com/foliomem/folio/internal/system/spawn"
)

func (*heapTree) prepare(*spawn.Program) (*spawn.Process, error) { return nil, errNoHeap }

func unseenTree(error) bool { return true }

func (*heapTree) start() (pid int, held time.Duration, err error) { return 0, 0, errNoHeap }

func (*heapTree) guard() int { return 0 }

func (*heapTree) end() {}

func (*heapTree) fill(*Sample) {}
