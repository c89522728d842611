package scratch

import "golang.org/x/sys/unix"

// Free returns how many bytes a user may still write to the disk of a directory; ok is
// false where that is not known.
func Free(dir string) (bytes uint64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Bsize <= 0 {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}
