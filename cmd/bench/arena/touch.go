package main

import (
	"context"

	"github.com/foliomem/folio/cmd/bench/internal/touch"
	"github.com/foliomem/folio/internal/system/procmem"
)

// touchMemory touches as much memory as most arms use at most, and a quarter of what
// is available. A round begins with it.
func touchMemory() error {
	const most = 4 << 30
	m, err := procmem.New("").Meminfo()
	if err != nil || m.MemAvailable == nil {
		return nil
	}
	return touch.Memory(context.Background(), min(most, *m.MemAvailable/4))
}
