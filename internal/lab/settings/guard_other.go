//go:build !linux

package settings

import (
	"errors"
	"fmt"
	"syscall"
)

func ownSession() *syscall.SysProcAttr { return nil }

// Detach needs Linux.
func Detach([]string) error { return fmt.Errorf("system settings: %w", errors.ErrUnsupported) }

// Deafen does nothing: there is no guard here.
func Deafen() {}
