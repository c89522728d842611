//go:build !linux

package trial

import "fmt"

// MayCollapse says that THPCollapse needs Linux.
func MayCollapse() error { return fmt.Errorf("--thp collapse: %w", ErrNotSupported) }
