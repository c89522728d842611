package workload

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// largest is the size of a Go file, in bytes, above which it is a table more often
// than not, such as those of Unicode and of instructions.
const largest = 32 << 10

// Documents returns the paths of the first Go files below a GOROOT, in lexical
// order: so many at most, of so many bytes together at most. Test data and large
// files are left out.
func Documents(goroot string, count int, size uint64) (paths []string, err error) {
	src := filepath.Join(goroot, "src")
	err = filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case !d.Type().IsRegular() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch n := info.Size(); {
		case n == 0 || n > largest:
			return nil
		case len(paths) == count || uint64(n) > size:
			return fs.SkipAll
		default:
			size -= uint64(n)
		}
		paths = append(paths, path)
		return nil
	})
	if err == nil && len(paths) == 0 {
		err = errors.New("there are no Go files")
	}
	if err != nil {
		return nil, fmt.Errorf("find documents in %s: %w", src, err)
	}
	return paths, nil
}

// WriteDocuments writes the list of documents that program index reads.
func WriteDocuments(file string, paths []string) error {
	return os.WriteFile(file, []byte(strings.Join(paths, "\n")+"\n"), 0o666)
}
