package codepatch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/input"
)

// A Copied is what Copy has written.
type Copied struct {
	Patch *Patch
	Path  string // with links resolved
	Notes []string
}

// Copy writes a patched copy of the program at from to the file at to: same
// size, mode, times, owner and extended attributes where they can be set. The
// file is complete or absent: it replaces what is there at once. These are
// refused with a *RefusedError: what Find refuses, a program that is patched
// already, and programs whose copy would not be the same to the system: setuid
// or setgid, with capabilities, or signed.
func Copy(from, to string) (*Copied, error) {
	in, info, err := regular(from)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if info.Size() > input.MaxProgram {
		return nil, &input.TooLargeError{What: from, Most: input.MaxProgram}
	}
	target, err := target(info, to)
	if err != nil {
		return nil, err
	}
	c := &Copied{Path: target}
	if c.Patch, err = patchable(in, info); err != nil {
		return nil, err
	}
	if c.Notes, err = copyable(in, info); err != nil {
		return nil, err
	}
	return c, c.write(in, info)
}

// target returns the file to write, and sees to it that it is not the input.
func target(in fs.FileInfo, to string) (string, error) {
	// The file behind a link is meant, not the link.
	if real, err := filepath.EvalSymlinks(to); err == nil {
		to = real
	} else if _, err := os.Lstat(to); err == nil {
		return "", fmt.Errorf("%s: a link to nothing", to)
	}
	info, err := os.Stat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return to, nil
	case err != nil:
		return "", err
	case info.IsDir():
		return "", fmt.Errorf("%s: is a directory: name a file in it", to)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s: not a regular file", to)
	case os.SameFile(in, info):
		return "", fmt.Errorf("%s: is the program itself: name another file", to)
	}
	return to, nil
}

// patchable finds what to change.
func patchable(in *os.File, info fs.FileInfo) (*Patch, error) {
	if err := Magic(in); err != nil {
		return nil, err
	}
	f, err := symbol.New(in, info.Size(), nil)
	if err != nil {
		return nil, refuse(NotELF, "%v", err)
	}
	p, err := Find(f)
	switch {
	case err != nil:
		return nil, err
	case p.Applied:
		return nil, refuse(Patched, "it has the patch already")
	}
	for _, name := range f.Sections() {
		if strings.Contains(name, "signature") || strings.HasSuffix(name, "_sig") || strings.HasSuffix(name, ".sig") {
			return nil, refuse(Privileged, "it is signed (section %s): the signature would not fit a changed copy", name)
		}
	}
	return p, nil
}

// signatures are the marks of what is put at the end of signed files.
var signatures = []string{"~Module signature appended~\n", "-----BEGIN PGP SIGNATURE-----", "-----BEGIN PKCS7-----", "-----BEGIN CMS-----"}

// longestTrailer bounds how much of what follows a program is searched for
// signatures: they are small, and at its end.
const longestTrailer = 1 << 20

// copyable tells whether a copy would be the same program to the system.
func copyable(in *os.File, info fs.FileInfo) (notes []string, err error) {
	if bits := info.Mode() & (fs.ModeSetuid | fs.ModeSetgid); bits != 0 {
		return nil, refuse(Privileged, "it is setuid or setgid (mode %s): a copy of it must not be made by folio", info.Mode())
	}
	if err := privileges(in); err != nil {
		return nil, err
	}
	f, err := symbol.New(in, info.Size(), nil)
	if err != nil {
		return nil, refuse(NotELF, "%v", err)
	}
	extent := int64(f.Extent())
	if extent >= info.Size() {
		return nil, nil
	}
	from := max(extent, info.Size()-longestTrailer)
	trailer, err := io.ReadAll(io.NewSectionReader(in, from, info.Size()-from))
	if err != nil {
		return nil, err
	}
	for _, mark := range signatures {
		if bytes.Contains(trailer, []byte(mark)) {
			return nil, refuse(Privileged, "it is signed (%q at its end): the signature would not fit a changed copy", strings.TrimSpace(mark))
		}
	}
	return []string{fmt.Sprintf("%d bytes follow the program in its file; they are copied as they are", info.Size()-extent)}, nil
}

// write writes the copy, checks it, and puts it in its place.
func (c *Copied) write(in *os.File, info fs.FileInfo) (err error) {
	out, err := newTemp(c.Path)
	if err != nil {
		return c.wrap(err)
	}
	defer func() { err = errors.Join(err, out.drop()) }()
	if n, err := io.Copy(out.File, io.NewSectionReader(in, 0, info.Size())); err != nil {
		return c.wrap(err)
	} else if n != info.Size() {
		return fmt.Errorf("%s became shorter while it was copied", in.Name())
	}
	for _, e := range c.Patch.Edits {
		if err := e.apply(out.File); err != nil {
			return c.wrap(err)
		}
	}
	if err := c.check(in, out.File, info); err != nil {
		return err
	}
	notes, err := attributes(in, out.File, info)
	if err != nil {
		return c.wrap(err)
	}
	c.Notes = append(c.Notes, notes...)
	if err := out.File.Sync(); err != nil {
		return c.wrap(err)
	}
	now, err := in.Stat()
	if err != nil {
		return err
	}
	if now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime()) {
		return fmt.Errorf("%s changed while it was copied: try again", in.Name())
	}
	return c.wrap(out.place(c.Path))
}

// wrap says the path once, and never the temporary one.
func (c *Copied) wrap(err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	var le *os.LinkError
	if errors.As(err, &pe) {
		err = pe.Err
	} else if errors.As(err, &le) {
		err = le.Err
	}
	return fmt.Errorf("write %s: %w", c.Path, err)
}

// apply writes an edit where its old bytes are.
func (e Edit) apply(f *os.File) error {
	b := make([]byte, len(e.Old))
	if _, err := f.ReadAt(b, e.Offset); err != nil {
		return err
	}
	if !bytes.Equal(b, e.Old) {
		return fmt.Errorf("at %#x: %x, not %x: the program changed while it was read", e.Offset, b, e.Old)
	}
	_, err := f.WriteAt(e.New, e.Offset)
	return err
}

// check reads the copy: it has the patch, and differs in nothing else.
func (c *Copied) check(in, out *os.File, info fs.FileInfo) error {
	f, err := symbol.New(out, info.Size(), nil)
	if err != nil {
		return fmt.Errorf("the copy is not a program: %w", err)
	}
	p, err := Find(f)
	if err != nil {
		return fmt.Errorf("the copy is not what it should be: %w", err)
	}
	if !p.Applied || p.Proof.MapOS.Address != c.Patch.Proof.MapOS.Address {
		return errors.New("the copy is not what it should be: the patch is not in it")
	}
	const chunk = 1 << 20
	a, b := make([]byte, chunk), make([]byte, chunk)
	for off := int64(0); off < info.Size(); off += chunk {
		n := min(chunk, info.Size()-off)
		if _, err := in.ReadAt(a[:n], off); err != nil {
			return err
		}
		if _, err := out.ReadAt(b[:n], off); err != nil {
			return c.wrap(err)
		}
		for _, e := range c.Patch.Edits {
			overlap(a[:n], off, e)
		}
		if !bytes.Equal(a[:n], b[:n]) {
			return fmt.Errorf("the copy differs from %s where it must not, after %#x: the program changed while it was read", in.Name(), off)
		}
	}
	return nil
}

// overlap applies an edit to what was read at off.
func overlap(b []byte, off int64, e Edit) {
	for i, v := range e.New {
		if at := e.Offset + int64(i) - off; at >= 0 && at < int64(len(b)) {
			b[at] = v
		}
	}
}

// A temp is the copy before it has its name.
type temp struct {
	File *os.File
	name string // "" if it has none yet
}

// drop closes the copy, and removes it if it was not placed.
func (t *temp) drop() error {
	err := t.File.Close()
	if t.name != "" {
		os.Remove(t.name)
	}
	return err
}

// namedTemp is a temporary file beside path.
func namedTemp(path string) (*temp, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	return &temp{f, f.Name()}, nil
}

// rename gives the copy its name, and sees to it that it survives a crash.
func (t *temp) rename(path string) error {
	if err := os.Rename(t.name, path); err != nil {
		return err
	}
	t.name = ""
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync() // some file systems cannot
		dir.Close()
	}
	return nil
}
