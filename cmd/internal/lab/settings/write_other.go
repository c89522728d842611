//go:build !linux

package settings

import "errors"

func mayWrite(string) error { return errors.ErrUnsupported }
