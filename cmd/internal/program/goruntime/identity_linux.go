package goruntime

import (
	"os"
	"syscall"
)

// identity tells files apart, and a file from what it was before it was written.
type identity struct {
	dev, ino     uint64
	size         int64
	mtime, ctime syscall.Timespec
}

func identify(info os.FileInfo) (identity, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, false
	}
	return identity{uint64(st.Dev), st.Ino, st.Size, st.Mtim, st.Ctim}, true
}
