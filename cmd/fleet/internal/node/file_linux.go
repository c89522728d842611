package node

import (
	"os"
	"syscall"
)

func idOf(info os.FileInfo) fileID {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{size: info.Size()}
	}
	return fileID{dev: uint64(st.Dev), ino: st.Ino, changed: st.Ctim.Nano(), size: st.Size}
}
