//go:build !linux

package scratch

import "os"

// Unnamed returns a file to be removed by the system. Programs are measured on Linux only.
func Unnamed(dir string) (*os.File, error) { return os.CreateTemp(dir, "folio-unnamed") }
