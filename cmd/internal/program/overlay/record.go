package overlay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/foliomem/folio/internal/base/input"
)

// A Record is what a program says of the patches in it.
type Record struct {
	Go      string // the version that was patched
	Patches []Recorded
}

// A Recorded is one patch in a program.
type Recorded struct {
	Name string
	Hash string // of the text of the patch
}

// String returns the names of the patches, with commas between.
func (r Record) String() string {
	var out []string
	for _, p := range r.Patches {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}

// List returns the patches as name@hash.
func (r Record) List() []string {
	out := []string{}
	for _, p := range r.Patches {
		out = append(out, p.Name+"@"+p.Hash)
	}
	return out
}

func newRecord(t *Toolchain, patches []*Patch) Record {
	version, _, _ := strings.Cut(t.Version, " ")
	r := Record{Go: version}
	for _, p := range patches {
		r.Patches = append(r.Patches, Recorded{p.Name, p.Hash})
	}
	return r
}

// recordFile is the file of the runtime that the record is in.
const recordFile = "src/runtime/folio_patches.go"

// mark begins the record in a program. It is text, found in the file itself: a stripped
// program has no names, and build information cannot be added to.
const mark = "folio:patches:1:"

var record = regexp.MustCompile(`^` + mark + `([a-zA-Z0-9.+-]+):([a-z0-9@,-]+);`)

func (r Record) text() string { return mark + r.Go + ":" + strings.Join(r.List(), ",") + ";" }

// source is the file that keeps the record in a program: the linker drops what nothing
// refers to.
func (r Record) source() string {
	return fmt.Sprintf(`// Written by folio: what was patched in this build.

package runtime

var folioPatches string

func init() { folioPatches = %q }
`, r.text())
}

// ReadFile returns the record of a program, nil if nothing in it was patched by this
// package.
func ReadFile(program string) (*Record, error) {
	f, _, err := input.Open(program)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := Read(io.LimitReader(f, input.MaxSearch))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", program, err)
	}
	return r, nil
}

// longest is more than any record takes.
const longest = 4 << 10

// Read looks for a record in what r holds.
func Read(r io.Reader) (*Record, error) {
	buf := make([]byte, 1<<20)
	kept := 0
	for {
		n, err := io.ReadFull(r, buf[kept:])
		data := buf[:kept+n]
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return nil, err
		}
		for at := 0; ; {
			i := bytes.Index(data[at:], []byte(mark))
			if i < 0 {
				break
			}
			at += i
			if found := parseRecord(data[at:min(len(data), at+longest)]); found != nil {
				return found, nil // folio itself has the mark, without a record
			}
			at += len(mark)
		}
		if last {
			return nil, nil
		}
		kept = copy(buf, data[max(0, len(data)-longest):])
	}
}

func parseRecord(data []byte) *Record {
	m := record.FindSubmatch(data)
	if m == nil {
		return nil
	}
	out := &Record{Go: string(m[1])}
	for _, p := range strings.Split(string(m[2]), ",") {
		name, hash, ok := strings.Cut(p, "@")
		if !ok {
			return nil
		}
		out.Patches = append(out.Patches, Recorded{name, hash})
	}
	return out
}
