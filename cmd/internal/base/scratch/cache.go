package scratch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// An UnsafeError says why a file or directory of the cache is not used: another user
// could have written it, or can still. Builds take code from the cache, so that user
// would run code as this one.
type UnsafeError struct{ Path, Why, Fix string }

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s is not used: %s: %s", e.Path, e.Why, e.Fix)
}

// Cache returns folio's directory of this name in the user's cache, and makes it if it
// is not there. The error is an [*UnsafeError] if another user could write in it.
func Cache(name string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache: %w (set XDG_CACHE_HOME)", err)
	}
	return Private(filepath.Join(base, "folio", name))
}

// Private makes a directory, mode 0700, with those above it, and returns it without
// symbolic links. The error is an [*UnsafeError] if another user could write in it, or
// replace it.
func Private(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", err
	}
	return dir, checkDir(dir)
}

// Open opens a file that only this user, or root, can have written.
func Open(path string) (*os.File, fs.FileInfo, error) {
	f, err := openOwn(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &UnsafeError{path, "not a regular file", "remove it"}
	}
	if err == nil {
		err = owned(path, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// ReadFile reads such a file, which is at most so long.
func ReadFile(path string, most int64) ([]byte, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > most {
		return nil, &UnsafeError{path, "larger than folio wrote it", "remove it"}
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// WriteFile writes a file whole or not at all, mode 0600, in a directory that Private
// has returned, or that is made below one.
func WriteFile(path string, data []byte) error {
	dir, err := Private(filepath.Dir(path))
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".new-*") // mode 0600, and new
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(dir, filepath.Base(path)))
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // no half file stays
	}
	return err
}
