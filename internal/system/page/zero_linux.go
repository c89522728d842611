package page

import "encoding/binary"

// allZero reports whether b, whole pages of it, has no other byte. Most pages that
// hold something show it early.
func allZero(b []byte) bool {
	for ; len(b) >= 32; b = b[32:] {
		if binary.NativeEndian.Uint64(b)|binary.NativeEndian.Uint64(b[8:])|
			binary.NativeEndian.Uint64(b[16:])|binary.NativeEndian.Uint64(b[24:]) != 0 {
			return false
		}
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
