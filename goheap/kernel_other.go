//go:build !linux

package goheap

import (
	"fmt"
	"runtime"
	"time"

	"github.com/foliomem/folio/internal/system/page"
)

func mayCollapse() error {
	return fmt.Errorf("%w on %s: needs Linux", page.ErrNotSupported, runtime.GOOS)
}
func room(uint64) error { return mayCollapse() }
func locked() bool      { return false }

func (*Advisor) heedLock() {}

func threadTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
