package host

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os/exec"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/internal/base/input"
)

// Build returns what tells one build of a program from another: the version of its
// main module (with Go 1.24 the commit, too), or its commit; and the build ID that
// the linker wrote, which differs where the contents do. "" is unknown. A path
// without a slash is searched in PATH.
func Build(path string) (version, id string) {
	file, err := exec.LookPath(path)
	if err != nil {
		return "", ""
	}
	f, info, err := input.Open(file)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	if b, err := executable.BuildOf(f, info.Size()); err == nil {
		version = cmp.Or(b.Version, b.Commit)
	}
	return version, buildID(f, info.Size())
}

// mostNote is more than any note with a build ID has, in bytes.
const mostNote = 4096

// buildID returns the build ID of an ELF file, shortened: the part of Go's that is of
// the contents, else that of the GNU linker.
func buildID(r io.ReaderAt, size int64) string {
	f, _, err := executable.New(r, size)
	if err != nil {
		return ""
	}
	if desc := note(f, ".note.go.buildid", "Go\x00\x00"); len(desc) > 0 {
		if i := bytes.LastIndexByte(desc, '/'); i >= 0 {
			desc = desc[i+1:]
		}
		return short(string(desc))
	}
	return short(hex.EncodeToString(note(f, ".note.gnu.build-id", "GNU\x00")))
}

func short(id string) string { return id[:min(len(id), 16)] }

// note returns the contents of a note section that has one note of an owner.
func note(f *elf.File, section, owner string) []byte {
	s := f.Section(section)
	if s == nil || s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(s.Open(), mostNote))
	if err != nil || len(data) < 12 {
		return nil
	}
	var order binary.ByteOrder = f.ByteOrder
	name, size := order.Uint32(data), order.Uint32(data[4:])
	if name != uint32(len(owner)) || string(data[12:min(len(data), 12+len(owner))]) != owner ||
		uint64(size) > uint64(len(data)-12-len(owner)) {
		return nil
	}
	return data[12+len(owner):][:size]
}
