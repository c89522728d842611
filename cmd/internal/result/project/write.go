package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// write makes the changes, or none if one of them fails. A file is replaced as a whole, and keeps
// its mode and owner; links are followed.
func (p Plan) write() (err error) {
	var all []*writing
	defer func() {
		for i := len(all) - 1; i >= 0; i-- {
			all[i].end(err != nil)
		}
	}()
	for _, step := range []func(*writing) error{(*writing).prepare, (*writing).commit} {
		for i, c := range p.Changes {
			if i == len(all) {
				all = append(all, &writing{Change: c})
			}
			if err := step(all[i]); err != nil {
				var pe *fs.PathError
				var le *os.LinkError
				if errors.As(err, &pe) {
					err = pe.Err // the path is said once, and never the temporary one
				} else if errors.As(err, &le) {
					err = le.Err
				}
				return fmt.Errorf("%s: %w", c.Path, err)
			}
		}
	}
	return nil
}

// A writing is a change that is being made.
type writing struct {
	Change
	real   string // behind links
	dir    string // that was made for it
	new    string // temporary files with the new contents, and with the old ones
	backup string
	done   bool
}

var errChanged = errors.New("it was changed meanwhile: run folio init again")

// prepare writes the new contents beside the file. Nothing of the project is changed.
func (w *writing) prepare() (err error) {
	if w.real, err = filepath.EvalSymlinks(w.Path); errors.Is(err, fs.ErrNotExist) {
		w.real, err = w.Path, nil
	}
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	info, err := os.Lstat(w.real)
	switch {
	case errors.Is(err, fs.ErrNotExist) && w.Old != nil, err == nil && w.Old == nil:
		return errChanged
	case errors.Is(err, fs.ErrNotExist):
		dir := filepath.Dir(w.real)
		if err := os.Mkdir(dir, 0o755); err == nil {
			w.dir = dir
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	case err != nil:
		return err
	default:
		now, err := os.ReadFile(w.real)
		if err != nil {
			return err
		}
		if !bytes.Equal(now, w.Old) {
			return errChanged
		}
		f, err := os.OpenFile(w.real, os.O_WRONLY, 0) // a rename would replace what may not be written
		if err != nil {
			return err
		}
		f.Close()
		mode = info.Mode().Perm()
		if w.backup, err = temporary(w.real, w.Old, mode, info); err != nil {
			return err
		}
	}
	if w.New != nil {
		w.new, err = temporary(w.real, w.New, mode, info)
	}
	return err
}

// temporary writes a file beside another one, with the owner that info has.
func temporary(beside string, text []byte, mode fs.FileMode, info fs.FileInfo) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(beside), "."+filepath.Base(beside)+".*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil && info != nil {
		keepOwner(f, info)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// commit puts the new contents in the place of the old ones, at once.
func (w *writing) commit() (err error) {
	if w.New == nil {
		err = os.Remove(w.real)
	} else if err = os.Rename(w.new, w.real); err == nil {
		w.new = ""
	}
	w.done = err == nil
	return err
}

// end removes what is not needed any more; undo takes the change back.
func (w *writing) end(undo bool) {
	switch {
	case undo && w.done && w.backup != "":
		if os.Rename(w.backup, w.real) == nil {
			w.backup = ""
		}
	case undo && w.done:
		os.Remove(w.real)
	}
	for _, name := range []string{w.new, w.backup} {
		if name != "" {
			os.Remove(name)
		}
	}
	if undo && w.dir != "" {
		os.Remove(w.dir)
	}
	if !undo && w.New == nil && filepath.Base(w.real) == dropIn {
		os.Remove(filepath.Dir(w.real)) // if nothing else is in it
	}
}
