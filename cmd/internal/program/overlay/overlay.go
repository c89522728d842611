package overlay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
)

// An Overlay is what a build needs.
type Overlay struct {
	File      string // for -overlay
	Toolchain *Toolchain
	Patches   []*Patch
	Patched   []string // files of the standard library that are replaced, below GOROOT
	Added     []string
	Record    Record // what the program will say of itself
	Note      string // why the user's cache is not used; "" if it is
}

// replacements is the form of the file of -overlay.
type replacements struct {
	Replace map[string]string // by the path of the file; "": there is none
}

// A store is where patched files are kept: builds find theirs again in it.
type store struct{ dir, note string }

// findStore returns the user's cache. If another user could write in it, or it cannot be
// made, it is a directory in temp, which nobody else has; "" is an error then.
func findStore(temp string) (store, error) {
	dir, err := scratch.Cache("overlay")
	switch {
	case err == nil:
		return store{dir: dir}, nil
	case temp == "":
		return store{}, &writeError{err}
	}
	return storeIn(temp, err), nil
}

// storeIn returns a store for one build, used instead of the cache for a reason.
func storeIn(temp string, why error) store {
	fix := ""
	if !errors.As(why, new(*scratch.UnsafeError)) { // which says it
		fix = " (XDG_CACHE_HOME moves the cache)"
	}
	return store{filepath.Join(temp, "overlay"), fmt.Sprintf("the patched files are kept for this build only, not in the cache: %v%s",
		why, fix)}
}

// A writeError says that a file could not be written in a store.
type writeError struct{ err error }

func (e *writeError) Error() string { return "write the patched files: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// apply writes the patched files, and the file that -overlay wants. User is the -overlay of
// the user himself, which is merged: patches apply to what it says that the files are; ""
// where there is none. Paths in it are relative to dir, the directory that the go command runs
// in ("": the current one).
//
// An error is a [*RefusedError], or says what could not be read or written.
func (s store) apply(t *Toolchain, patches []*Patch, user, dir string) (*Overlay, error) {
	if len(patches) == 0 {
		return nil, errors.New("no patch")
	}
	all, err := userReplacements(user, dir)
	if err != nil {
		return nil, err
	}
	read := func(file string) ([]byte, error) {
		if by, ok := all.Replace[t.path(file)]; ok && by == "" {
			return nil, fs.ErrNotExist
		} else if ok {
			return os.ReadFile(by)
		}
		return t.read(file)
	}
	files, err := render(t, patches, read)
	if err != nil {
		return nil, err
	}
	o := &Overlay{Toolchain: t, Patches: patches, Record: newRecord(t, patches), Note: s.note}
	for file := range files {
		if slices.ContainsFunc(patches, func(p *Patch) bool { return p.adds(file) }) {
			o.Added = append(o.Added, file)
		} else {
			o.Patched = append(o.Patched, file)
		}
	}
	slices.Sort(o.Patched)
	slices.Sort(o.Added)
	files[recordFile] = o.Record.source()

	key := t.Version + "\x00" + t.Root
	for _, file := range slices.Sorted(maps.Keys(files)) {
		key += "\x00" + file + "\x00" + files[file]
	}
	version, _, _ := strings.Cut(t.Version, " ")
	home := filepath.Join(s.dir, version+"-"+hash(key)[:16])
	for file, text := range files {
		to := filepath.Join(home, filepath.FromSlash(file))
		if err := s.write(to, []byte(text)); err != nil {
			return nil, err
		}
		all.Replace[t.path(file)] = to
	}
	data, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return nil, err
	}
	// With the user's own overlay, another project may want another file at the same time.
	o.File = filepath.Join(home, "overlay-"+hash(string(data))[:8]+".json")
	return o, s.write(o.File, data)
}

// write makes a file hold what it must, and leaves one that does alone: the go command
// goes by contents, but other builds may be reading it. One that another user could
// have written, or could still, is replaced.
func (s store) write(file string, data []byte) error {
	if have, err := scratch.ReadFile(file, int64(len(data))); err == nil && bytes.Equal(have, data) && s.note == "" {
		if _, err := scratch.Private(filepath.Dir(file)); err == nil {
			return nil
		}
	}
	write := scratch.WriteFile
	if s.note != "" {
		write = writePlain // below a directory that is new and private
	}
	if err := write(file, data); err != nil {
		return &writeError{err}
	}
	return nil
}

// makeDir makes a directory of the store that nobody else can write in.
func (s store) makeDir(dir string) error {
	if s.note != "" {
		return os.MkdirAll(dir, 0o700)
	}
	_, err := scratch.Private(dir)
	return err
}

func writePlain(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// userReplacements reads the user's overlay, with paths made absolute.
func userReplacements(file, dir string) (replacements, error) {
	out := replacements{Replace: make(map[string]string)}
	if file == "" {
		return out, nil
	}
	absolute := func(path string) (string, error) {
		if path == "" || filepath.IsAbs(path) {
			return path, nil
		}
		return filepath.Abs(filepath.Join(dir, path))
	}
	file, err := absolute(file)
	if err != nil {
		return out, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return out, fmt.Errorf("-overlay: %w", err)
	}
	var got replacements
	if err := json.Unmarshal(data, &got); err != nil {
		return out, fmt.Errorf("-overlay %s: %w", file, err)
	}
	for from, to := range got.Replace {
		if from, err = absolute(from); err != nil {
			return out, err
		}
		if to, err = absolute(to); err != nil {
			return out, err
		}
		out.Replace[filepath.Clean(from)] = to
	}
	return out, nil
}
