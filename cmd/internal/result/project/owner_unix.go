//go:build unix

package project

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner of an old one. Only root can always do that; the file of
// others who may write here becomes the user's, as with an editor.
func keepOwner(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}
