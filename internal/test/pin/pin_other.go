//go:build !linux

package pin

import "errors"

// Process pins this process to one CPU.
func Process(int) error { return errors.ErrUnsupported }

// Allowed lists the CPUs that this process may run on.
func Allowed() ([]int, error) { return nil, errors.ErrUnsupported }
