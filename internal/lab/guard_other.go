//go:build !linux

package lab

import (
	"syscall"

	"github.com/foliomem/folio/internal/trial"
)

func ownSession() *syscall.SysProcAttr { return nil }

// Detach needs Linux.
func Detach([]string) error { return trial.ErrNotSupported }

// Deafen does nothing: there is no guard here.
func Deafen() {}
