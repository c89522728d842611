//go:build !unix

package project

import (
	"io/fs"
	"os"
)

func keepOwner(*os.File, fs.FileInfo) {}
