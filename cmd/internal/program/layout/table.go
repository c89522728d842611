package layout

import (
	"debug/elf"
	_ "embed"
	"errors"
	"fmt"
	"go/version"
	"strconv"
	"strings"
	"sync"
)

//go:embed table.txt
var tableText string

// ErrUnknown says that the layout of a program's runtime is not known: its version of Go,
// or its processor.
var ErrUnknown = errors.New("not in the table of runtimes")

// A Field is where in a structure something is. The field that is named like the
// structure is the whole of it.
type Field struct {
	Offset, Size uint64 // bytes
}

// A Layout has the structures of one version of Go on one processor.
type Layout struct {
	Version string // go1.26
	Arch    string // GOARCH

	fields  map[string]Field
	sizes   []uint64
	reasons []string
}

// WaitReason returns why a goroutine waits, by the number that the runtime has for it; ""
// if it has none.
func (l *Layout) WaitReason(n uint64) string {
	if n >= uint64(len(l.reasons)) {
		return ""
	}
	return l.reasons[n]
}

// SizeClasses are the sizes of objects by their size class; class 0 is large objects.
func (l *Layout) SizeClasses() []uint64 { return l.sizes }

// Field returns a field by its path, such as "mheap.pages.inUse.ranges". It is false if
// this version of Go has none.
func (l *Layout) Field(path string) (Field, bool) {
	f, ok := l.fields[path]
	return f, ok
}

// Missing returns which of these fields the version of Go does not have.
func (l *Layout) Missing(paths ...string) (out []string) {
	for _, p := range paths {
		if _, ok := l.fields[p]; !ok {
			out = append(out, p)
		}
	}
	return out
}

// sizesRow is the name of the row with the sizes of size classes.
const sizesRow = "size_classes"

// reasonsRow is that of rows with the reasons to wait of a version: by |, as they contain
// spaces.
const reasonsRow = "wait_reasons"

var table = sync.OnceValues(func() ([]*Layout, error) { return parse(tableText) })

// parse reads the table: a row of versions and processors, then a row for each field
// with offset:size, or - where there is none.
func parse(text string) (all []*Layout, err error) {
	var sizes []uint64
	reasons := make(map[string][]string)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case words[0] == sizesRow:
			for _, w := range words[1:] {
				n, err := strconv.ParseUint(w, 10, 32)
				if err != nil {
					return nil, err
				}
				sizes = append(sizes, n)
			}
		case words[0] == reasonsRow && len(words) > 1:
			reasons[words[1]] = strings.Split(strings.Join(words[2:], " "), "|")
		case all == nil:
			for _, w := range words[1:] {
				v, arch, ok := strings.Cut(w, "/")
				if !ok {
					return nil, fmt.Errorf("%q: want version/GOARCH", w)
				}
				all = append(all, &Layout{Version: v, Arch: arch, fields: map[string]Field{}})
			}
		case len(words) != len(all)+1:
			return nil, fmt.Errorf("%s: %d columns, want %d", words[0], len(words)-1, len(all))
		default:
			for i, w := range words[1:] {
				if w == "-" {
					continue
				}
				offset, size, _ := strings.Cut(w, ":") // Sscanf takes a millisecond for all
				var f Field
				var err, err2 error
				f.Offset, err = strconv.ParseUint(offset, 10, 64)
				f.Size, err2 = strconv.ParseUint(size, 10, 64)
				if err := errors.Join(err, err2); err != nil {
					return nil, fmt.Errorf("%s: %q: %w", words[0], w, err)
				}
				all[i].fields[words[0]] = f
			}
		}
	}
	for _, l := range all {
		l.sizes, l.reasons = sizes, reasons[l.Version]
	}
	return all, nil
}

// archs are the processors of the table.
var archs = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// For returns the layout of a program of this version of Go, such as go1.26.8, on this
// processor. Experiments, which the version can name after a space, may change
// structures: whether the layout is right shows in the memory of the process. Versions
// that are not in the table are an [ErrUnknown].
func For(goVersion string, machine elf.Machine) (*Layout, error) {
	all, err := table()
	if err != nil {
		return nil, fmt.Errorf("table of runtimes: %w", err)
	}
	release, _, _ := strings.Cut(goVersion, " ")
	lang := version.Lang(release)
	arch := archs[machine]
	for _, l := range all {
		if l.Version == lang && l.Arch == arch {
			return l, nil
		}
	}
	switch {
	case arch == "":
		return nil, fmt.Errorf("processor %v: %w (amd64, arm64)", machine, ErrUnknown)
	case goVersion == "":
		return nil, fmt.Errorf("its version of Go is not known: %w", ErrUnknown)
	}
	return nil, fmt.Errorf("%.40s: %w (%s to %s)", goVersion, ErrUnknown, all[0].Version, all[len(all)-1].Version)
}
