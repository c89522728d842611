package profile

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/perf"
)

// replaced says whether a file is another than the one that was mapped. File
// systems in layers show other devices than the kernel reports; there nothing
// is known.
func replaced(info os.FileInfo, m *perf.Mapping) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || m.Inode == 0 {
		return false
	}
	dev := uint64(st.Dev)
	return unix.Major(dev) == m.Major && unix.Minor(dev) == m.Minor && st.Ino != m.Inode
}

// same says whether a file is the one that was mapped.
func same(info os.FileInfo, m *perf.Mapping) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && m.Inode != 0 && st.Ino == m.Inode && unix.Major(uint64(st.Dev)) == m.Major && unix.Minor(uint64(st.Dev)) == m.Minor
}

// changedAt is when a file was changed last, also by who set its times back.
func changedAt(info os.FileInfo) int64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return st.Ctim.Nano()
}
