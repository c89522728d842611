//go:build !linux

package codepatch

import (
	"io/fs"
	"os"
)

// privileges knows of none: what is patched are programs for Linux, which
// have theirs there.
func privileges(*os.File) error { return nil }

func attributes(_, out *os.File, info fs.FileInfo) (notes []string, err error) {
	if err := out.Chmod(info.Mode().Perm()); err != nil {
		return nil, err
	}
	return []string{"owner and extended attributes are copied on Linux only"}, os.Chtimes(out.Name(), info.ModTime(), info.ModTime())
}

func newTemp(path string) (*temp, error) { return namedTemp(path) }

func (t *temp) place(path string) error { return t.rename(path) }
