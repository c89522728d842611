// Command layouts makes the table of the runtime's structures, by which folio reads the
// memory of processes that have no debug information.
//
//	go run ./cmd/bench/layouts          write cmd/internal/program/layout/table.txt
//	go run ./cmd/bench/layouts -print   print it
//
// It builds a small program with each toolchain of the table of Go versions from 1.21 on,
// for amd64 and arm64, and reads its debug information. The go command fetches toolchains
// that are not there (GOTOOLCHAIN, GOPROXY).
package main

import (
	"bytes"
	"context"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"flag"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/foliomem/folio/cmd/internal/program/goversion"
)

const file = "cmd/internal/program/layout/table.txt"

func main() {
	only := flag.Bool("print", false, "print the table")
	flag.Parse()
	text, err := table(context.Background(), goversion.SupportOf(goversion.Waterfall).Releases())
	if err == nil && *only {
		_, err = os.Stdout.Write(text)
	} else if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "layouts:", err)
		os.Exit(1)
	}
}

const program = `package main

import (
	"fmt"
	"runtime"
)

func main() {
	var r []runtime.MemProfileRecord
	n, _ := runtime.MemProfile(r, true)
	m, _ := runtime.BlockProfile(nil)
	fmt.Println(n, m, runtime.NumGoroutine())
}
`

// A column is the structures of one program.
type column struct {
	name   string
	fields map[string]string
	sizes  string
	// reasons are the texts of the reasons for which goroutines wait, by their number.
	reasons []string
}

func table(ctx context.Context, releases []string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "layouts")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"main.go": program, "go.mod": "module layouts\n\ngo 1.21\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	var columns []column
	for _, release := range releases {
		for _, arch := range []string{"amd64", "arm64"} {
			c, err := read(ctx, dir, release, arch)
			if err != nil {
				return nil, fmt.Errorf("%s/%s: %w", release, arch, err)
			}
			columns = append(columns, c)
		}
	}
	return write(columns)
}

func write(columns []column) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintln(&b, "# Made by go run ./cmd/bench/layouts: fields of the Go runtime as offset:size in bytes. Do not edit.")
	fmt.Fprintf(&b, "size_classes %s\n", columns[0].sizes)
	for i, c := range columns {
		name, _, _ := strings.Cut(c.name, "/")
		if i == 0 || !strings.HasPrefix(columns[i-1].name, name+"/") {
			fmt.Fprintf(&b, "wait_reasons %s %s\n", name, strings.Join(c.reasons, "|"))
		} else if !slices.Equal(c.reasons, columns[i-1].reasons) {
			return nil, fmt.Errorf("%s has reasons to wait of its own: the table needs a column for them", c.name)
		}
	}
	w := tabwriter.NewWriter(&b, 0, 1, 1, ' ', 0)
	fmt.Fprint(w, "field")
	for _, c := range columns {
		if c.sizes != columns[0].sizes {
			return nil, fmt.Errorf("%s has size classes of its own: the table needs a column for them", c.name)
		}
		fmt.Fprintf(w, "\t%s", c.name)
	}
	fmt.Fprintln(w)
	for _, path := range paths {
		fmt.Fprint(w, path)
		for _, c := range columns {
			cell := c.fields[path]
			if cell == "" {
				cell = "-"
			}
			fmt.Fprintf(w, "\t%s", cell)
		}
		fmt.Fprintln(w)
	}
	err := w.Flush()
	return b.Bytes(), err
}

// read builds the program and reads its structures.
func read(ctx context.Context, dir, release, arch string) (column, error) {
	c := column{name: version.Lang(release) + "/" + arch, fields: map[string]string{}}
	path := filepath.Join(dir, release+"-"+arch)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+release, "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return c, fmt.Errorf("%w: %s", err, out)
	}
	f, err := elf.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	types, err := readTypes(f)
	if err != nil {
		return c, err
	}
	for _, p := range paths {
		if offset, size, ok := types.find(p); ok {
			c.fields[p] = fmt.Sprintf("%d:%d", offset, size)
		}
	}
	if c.sizes, err = sizeClasses(f); err != nil {
		return c, err
	}
	c.reasons, err = waitReasons(f)
	return c, err
}

// sizeClasses reads the runtime's table of the sizes of objects.
func sizeClasses(f *elf.File) (string, error) {
	data, err := variable(f, "runtime.class_to_size", "internal/runtime/gc.SizeClassToSize")
	if err != nil {
		return "", err
	}
	var words []string
	for ; len(data) >= 2; data = data[2:] {
		words = append(words, fmt.Sprint(binary.LittleEndian.Uint16(data)))
	}
	return strings.Join(words, " "), nil
}

// waitReasons reads the runtime's texts of the reasons for which goroutines wait.
func waitReasons(f *elf.File) (out []string, err error) {
	data, err := variable(f, "runtime.waitReasonStrings")
	if err != nil {
		return nil, err
	}
	for ; len(data) >= 16; data = data[16:] {
		text := make([]byte, binary.LittleEndian.Uint64(data[8:]))
		if len(text) > 0 {
			if err := memory(f, binary.LittleEndian.Uint64(data), text); err != nil {
				return nil, err
			}
		}
		out = append(out, string(text))
	}
	return out, nil
}

// variable reads a variable that has one of these names.
func variable(f *elf.File, names ...string) ([]byte, error) {
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	for _, s := range symbols {
		if slices.Contains(names, s.Name) && int(s.Section) < len(f.Sections) {
			data := make([]byte, s.Size)
			return data, memory(f, s.Value, data)
		}
	}
	return nil, fmt.Errorf("no %s", names[0])
}

// memory reads what the file has at an address.
func memory(f *elf.File, at uint64, data []byte) error {
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS && s.Flags&elf.SHF_ALLOC != 0 && at >= s.Addr && at-s.Addr < s.Size {
			_, err := s.ReadAt(data, int64(at-s.Addr))
			return err
		}
	}
	return fmt.Errorf("nothing at %#x", at)
}

// structures are the types of package runtime, and of its variables, by name.
type structures map[string]dwarf.Type

func readTypes(f *elf.File) (structures, error) {
	info, err := f.DWARF()
	if err != nil {
		return nil, err
	}
	var want []string
	for _, p := range paths {
		name, _, _ := strings.Cut(p, ".")
		want = append(want, "runtime."+name)
	}
	out := structures{}
	for r := info.Reader(); ; {
		e, err := r.Next()
		if err != nil || e == nil {
			return out, err
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		if !slices.Contains(want, name) {
			continue
		}
		at := e.Offset
		if e.Tag == dwarf.TagVariable {
			at, _ = e.Val(dwarf.AttrType).(dwarf.Offset)
		} else if e.Tag != dwarf.TagStructType {
			continue
		}
		if out[strings.TrimPrefix(name, "runtime.")], err = info.Type(at); err != nil {
			return nil, err
		}
	}
}

func (s structures) find(path string) (offset, size int64, ok bool) {
	words := strings.Split(path, ".")
	t := s[words[0]]
	if t == nil {
		return 0, 0, false
	}
	for _, name := range words[1:] {
		st, isStruct := plain(t).(*dwarf.StructType)
		if !isStruct {
			return 0, 0, false
		}
		i := slices.IndexFunc(st.Field, func(f *dwarf.StructField) bool { return f.Name == name })
		if i < 0 {
			return 0, 0, false
		}
		offset += st.Field[i].ByteOffset
		t = st.Field[i].Type
	}
	// What is in an atomic type follows padding that takes no room.
	return offset, t.Size(), true
}

func plain(t dwarf.Type) dwarf.Type {
	for {
		d, ok := t.(*dwarf.TypedefType)
		if !ok {
			return t
		}
		t = d.Type
	}
}
