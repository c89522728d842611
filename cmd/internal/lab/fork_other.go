//go:build !linux

package lab

import (
	"time"
	"unsafe"

	"github.com/foliomem/folio/internal/system/page"
)

type holder struct{ pid int }

func newHolder() (*holder, error) { return nil, page.ErrNotSupported }

func (h *holder) close() error { return nil }

func writeEach(unsafe.Pointer, uint64, uint64, []time.Duration) {}
