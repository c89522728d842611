//go:build linux && !(amd64 || arm64)

package trial

import (
	"time"

	"github.com/foliomem/folio/internal/system/spawn"
)

type execTree struct{ runtimes *runtimes }

func (*execTree) prepare(*spawn.Program) (*spawn.Process, error) { return nil, errNoHeap }

func unseenTree(error) bool { return true }

func (*execTree) start() (pid int, held time.Duration, err error) { return 0, 0, errNoHeap }

func (*execTree) waited() time.Duration { return 0 }

func (*execTree) executed() map[int]bool { return nil }

func (*execTree) guard() int { return 0 }

func (*execTree) end() {}

func (*execTree) fill(*Sample) {}
