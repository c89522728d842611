//go:build !linux

package scratch

import "os"

// Free returns how many bytes a user may still write to the disk of a directory; ok is
// false where that is not known.
func Free(string) (bytes uint64, ok bool) { return 0, false }

// RoomLeft knows of nothing here.
func RoomLeft(*os.File) error { return nil }
