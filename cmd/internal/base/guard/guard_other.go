//go:build !linux

package guard

import (
	"errors"
	"fmt"
	"syscall"
)

func ownSession() *syscall.SysProcAttr { return nil }

// detach needs Linux.
func detach([]string) error { return fmt.Errorf("a guard: %w", errors.ErrUnsupported) }

// deafen does nothing: there is no guard here.
func deafen() {}
