package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/foliomem/folio/internal/base/console"
)

// An Output is a result file. It is opened before anything is measured, so that
// a path that cannot be written costs no measurements, and rewritten as a whole
// each time there is more to say, so that whoever reads it, whenever folio ends,
// finds either the old contents or a complete new one.
type Output struct {
	flag, path string
	replace    bool // write beside it and rename: for regular files
	file       *os.File
	stdout     io.Writer
	last       []byte
	written    bool
	old        bool
}

// indented returns a result as JSON, which may go to a terminal.
func indented(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return append(console.JSON(data), '\n'), err
}

// OpenOutput checks that path can be written. flag names it in errors; "-" is
// stdout, which gets the last version when the output is closed.
func OpenOutput(flag, path string, stdout io.Writer) (*Output, error) {
	o := &Output{flag: flag, path: path}
	if path == "-" {
		o.stdout = stdout
		return o, nil
	}
	// Follow links: the file behind is meant, not the link.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		o.path = real
	} else if errors.Is(err, os.ErrNotExist) {
		o.path = missing(path)
	}
	info, err := os.Stat(o.path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s %s: is a directory: name a file in it", flag, path)
	case err == nil && !info.Mode().IsRegular():
		o.file, err = os.OpenFile(o.path, os.O_WRONLY, 0)
		return o, o.wrap(err)
	case err == nil:
		o.old = info.Size() > 0
		// A rename would replace even a file that may not be written.
		f, err := os.OpenFile(o.path, os.O_WRONLY, 0)
		if err != nil {
			return nil, o.wrap(err)
		}
		f.Close()
	case !errors.Is(err, os.ErrNotExist):
		return nil, o.wrap(err)
	}
	tmp, err := o.temp()
	if err != nil {
		if info == nil {
			return nil, o.wrap(err)
		}
		return o, nil // the file may be written, its directory not: in place, then
	}
	o.replace = true
	tmp.Close()
	return o, o.wrap(os.Remove(tmp.Name()))
}

// missing returns the path that a link to a file that is not there yet means.
// Links that only the kernel can follow, such as /dev/fd/3 to a pipe, stay.
func missing(path string) string {
	const most = 40 // links, as in the kernel
	for range most {
		if _, err := os.Stat(path); err == nil {
			return path
		}
		to, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path
}

// IsStdout says that the output goes to standard output. A nil Output does not.
func (o *Output) IsStdout() bool { return o != nil && o.stdout != nil }

// HasOld says that the file held something when it was opened, and still does.
func (o *Output) HasOld() bool { return o.old && !o.written }

func (o *Output) temp() (*os.File, error) {
	return os.CreateTemp(filepath.Dir(o.path), "."+filepath.Base(o.path)+".*")
}

func (o *Output) wrap(err error) error {
	if err == nil {
		return nil
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err // the path is said once, and never the temporary one
	}
	dir := filepath.Dir(o.path)
	switch info, dirErr := os.Stat(dir); {
	case !errors.Is(err, os.ErrNotExist):
	case errors.Is(dirErr, os.ErrNotExist):
		return fmt.Errorf("%s %s: directory %s does not exist", o.flag, o.path, dir)
	case dirErr == nil && info.IsDir():
		return fmt.Errorf("%s %s: no file can be made in %s", o.flag, o.path, dir) // as in /proc
	}
	return fmt.Errorf("%s %s: %w", o.flag, o.path, err)
}

// Write replaces the contents.
func (o *Output) Write(data []byte) error {
	o.last, o.written = data, true
	switch {
	case o.stdout != nil || o.file != nil:
		return nil // what cannot be replaced is written once, by Close
	case o.replace:
		return o.wrap(o.rename(data))
	}
	return o.wrap(os.WriteFile(o.path, data, 0o644))
}

func (o *Output) rename(data []byte) (err error) {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(o.path); err == nil {
		mode = info.Mode().Perm()
	}
	tmp, err := o.temp()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	if _, err = tmp.Write(data); err == nil {
		err = tmp.Chmod(mode)
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), o.path)
}

// Close writes what had to wait.
func (o *Output) Close() error {
	if o == nil {
		return nil // it was not asked for
	}
	if o.stdout != nil && o.written {
		_, err := o.stdout.Write(o.last)
		return o.wrap(err)
	}
	if o.file != nil {
		var err error
		if o.written {
			_, err = o.file.Write(o.last)
		}
		return o.wrap(errors.Join(err, o.file.Close()))
	}
	return nil
}
