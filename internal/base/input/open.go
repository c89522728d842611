package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/foliomem/folio/internal/base/unit"
)

// ErrNotRegular says that a path is a directory, a pipe, a device or the like.
var ErrNotRegular = errors.New("not a regular file")

// A TooLargeError is for what is larger than folio reads.
type TooLargeError struct {
	What string // the file, or the part of it
	Most int64
	Unit string // "" is bytes
}

func (e *TooLargeError) Error() string {
	if e.Unit != "" {
		return fmt.Sprintf("%s has more than the %d %s that folio reads", e.What, e.Most, e.Unit)
	}
	return fmt.Sprintf("%s is larger than the %s that folio reads", e.What, unit.Exact(uint64(e.Most)))
}

// Open opens a regular file for reading. Whatever else is at the path, now or by the
// time that it is opened, is an [ErrNotRegular], and is not opened: a pipe would wait,
// and a device may do something.
func Open(path string) (*os.File, fs.FileInfo, error) {
	f, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(path)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func notRegular(path string) error {
	return &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
}

// ReadFile reads a regular file of at most so many bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > most {
		return nil, &TooLargeError{What: path, Most: most}
	}
	return ReadAll(f, path, most)
}

// ReadAll reads all of r, which must not be more than so many bytes; what names it in
// the error.
func ReadAll(r io.Reader, what string, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = &TooLargeError{What: what, Most: most}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
