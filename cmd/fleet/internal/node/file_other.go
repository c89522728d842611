//go:build !linux

package node

import "os"

func idOf(info os.FileInfo) fileID {
	return fileID{changed: info.ModTime().UnixNano(), size: info.Size()}
}
