package codepatch

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"go/version"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/input"
)

// first is the first release of Go that has the branch.
const first = "go1.21.6"

// openFile opens a program, or says what the file is instead.
func openFile(path string) (*symbol.File, error) {
	file, _, err := regular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := Magic(file); err != nil {
		return nil, err
	}
	f, err := symbol.Open(path)
	if err != nil {
		return nil, refuse(NotELF, "%v", err)
	}
	return f, nil
}

// regular opens a file: what else is there, now or in a moment, is refused.
func regular(path string) (*os.File, fs.FileInfo, error) {
	file, info, err := input.Open(path)
	if errors.Is(err, input.ErrNotRegular) {
		err = refuse(NotELF, "not a regular file")
	}
	return file, info, err
}

// Magic tells by its beginning whether a file is an ELF file; the error says
// what it is instead.
func Magic(r io.ReaderAt) error {
	head := make([]byte, 128)
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	return notELF(head[:n])
}

// notELF says what a file is that is not a program, by its beginning.
func notELF(head []byte) error {
	if bytes.HasPrefix(head, []byte(elf.ELFMAG)) {
		return nil
	}
	if line, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		return refuse(NotELF, "a script for %q, not a Go program", strings.TrimSpace(string(line)))
	}
	return refuse(NotELF, "not a program in the ELF format")
}

// movable tells whether the kernel chooses where the program is.
func movable(f Image) bool { return f.Type() == elf.ET_DYN }

// acceptable tells whether a program can be looked at at all, and for which
// processor it is.
func acceptable(f Image) (*processor, error) {
	if t := f.Type(); t != elf.ET_EXEC && t != elf.ET_DYN {
		return nil, refuse(NotELF, "not a program, but an ELF file of type %s", strings.TrimPrefix(t.String(), "ET_"))
	}
	isGo, release := f.IsGo(), f.GoVersion()
	if !isGo {
		if err := f.Foreign(); err != nil {
			return nil, refuse(Unreadable, "%v", err)
		}
		return nil, refuse(NotGo, "not a Go program: it has no table of Go functions")
	}
	arch := processors[f.Machine()]
	if arch == nil || f.Class() != elf.ELFCLASS64 || f.Order() != binary.LittleEndian {
		return nil, refuse(Arch, "a Go program for %s: amd64 and arm64 are supported", describeMachine(f))
	}
	if v := plainVersion(release); v != "" && version.Compare(v, first) < 0 {
		return nil, refuse(TooOld, "built with %s: the branch in runtime.sysMapOS is there from %s on", v, first)
	}
	if !f.HasTable() {
		if err := f.Foreign(); err != nil {
			return nil, refuse(Unreadable, "%v", err)
		}
		return nil, refuse(Unreadable, "its table of functions (pclntab, %s) cannot be read: obfuscated (garble), packed, or of a later Go", said(release))
	}
	return arch, nil
}

func describeMachine(f Image) string {
	return fmt.Sprintf("%s (%s)", strings.TrimPrefix(f.Machine().String(), "EM_"), strings.TrimPrefix(f.Class().String(), "ELFCLASS")+" bits")
}

// plainVersion returns the release of Go in what a program says, "" if there is
// none: development versions have no order.
func plainVersion(s string) string {
	if s, _, _ = strings.Cut(s, " "); !version.IsValid(s) {
		s, _, _ = strings.Cut(s, "-") // go1.26.1-mine
	}
	if !version.IsValid(s) {
		return ""
	}
	return s
}

// said is a release in words.
func said(release string) string {
	if release == "" {
		return "a Go program of an unknown release"
	}
	return release
}
