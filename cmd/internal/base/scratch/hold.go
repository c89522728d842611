package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrHeld says that another folio uses a cache.
var ErrHeld = errors.New("another folio uses it")

// Hold keeps others from cleaning a directory of the cache for as long as the file is open;
// alone it keeps all others out. The error is [ErrHeld] where that is not possible now.
func Hold(dir string, alone bool) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := share(f, alone); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Clear removes what is in a directory of the cache, also what is read-only, as the go
// command leaves modules. The lock of Hold stays.
func Clear(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == ".lock" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if rmErr := os.RemoveAll(path); rmErr != nil {
			_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() {
					err = os.Chmod(p, 0o700)
				}
				return err
			})
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	return err
}

// Size returns how many bytes the files below a directory have, 0 where it does not exist.
func Size(dir string) (bytes uint64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went while this looked
		} else if err != nil {
			return err
		}
		if d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += uint64(info.Size())
			}
		}
		return nil
	})
	return bytes, err
}
