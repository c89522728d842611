//go:build !unix

package symbol

import "io/fs"

func ownedByUs(fs.FileInfo) bool { return false }

func mapFile(string, int64) ([]byte, error) { return nil, errNoCache }
