//go:build !linux

package settings

import (
	"errors"
	"fmt"
	"syscall"
)

func ownSession() *syscall.SysProcAttr { return nil }

// detach needs Linux.
func detach([]string) error { return fmt.Errorf("system settings: %w", errors.ErrUnsupported) }

// deafen does nothing: there is no guard here.
func deafen() {}

func mayWrite(string) error { return errors.ErrUnsupported }
