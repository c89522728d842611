package procmem

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/base/input"
)

// VMA is one line of /proc/PID/maps: a mapping as the kernel divides the
// address space. Neighbors of one kind are one. See proc_pid_maps(5).
type VMA struct {
	Start, End        uint64
	Read, Write, Exec bool
	Shared            bool
	Offset, Inode     uint64
	Dev               uint64 // of the file: the major number is in the upper half
	// Name is the file, or in brackets what the kernel or the program called it
	// ([stack], [anon:NAME]), "" for most anonymous memory.
	Name string
}

// StackName reports whether a mapping has the name of a stack: of the kernel's for that of
// the first thread, or of a C library's for those of others.
func (v VMA) StackName() bool {
	for _, prefix := range []string{"[stack]", "[stack:", "[anon:stack", "[anon: glibc: pthread ", "[anon: glibc: unused stack"} {
		if strings.HasPrefix(v.Name, prefix) {
			return true
		}
	}
	return false
}

// Len returns the size in bytes.
func (v VMA) Len() uint64 { return v.End - v.Start }

// Anonymous reports whether it is private memory of no file that was mapped by
// the program: neither brk's [heap] nor a [stack], which the kernel grows.
func (v VMA) Anonymous() bool {
	return !v.Shared && v.Inode == 0 && v.Offset == 0 && (v.Name == "" || strings.HasPrefix(v.Name, "[anon:"))
}

// Guards reports whether g is the few pages with no permission below the stack of a
// thread that the C library made, which v is then. Nothing else says what such memory is;
// glibc 2.43 has guards that cannot be seen.
func Guards(g, v VMA, pageSize int) bool {
	const most = 16 // pages
	return g.End == v.Start && !g.Read && !g.Write && !g.Exec && !g.Shared && g.Inode == 0 && g.Name == "" && g.Len() <= uint64(most*pageSize)
}

// Maps reads /proc/PID/maps; pid 0 is the calling process. A process of another user
// needs the right to ptrace it (CAP_SYS_PTRACE). A process that changes
// its mappings meanwhile may have some of them missing, or listed in parts.
func (f FS) Maps(pid int) ([]VMA, error) {
	return scan(f.procPath(pid, "maps"), scanMaps)
}

// scan opens a file and has it read a line at a time: a process can have a hundred
// thousand mappings, of names as long as a path can be.
func scan[T any](path string, read func(r io.Reader) ([]T, error)) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := read(f)
	var gone *os.PathError
	if err != nil && !errors.As(err, &gone) { // that has the path
		return nil, fmt.Errorf("parse %s: %w", path, err)
	} else if err != nil {
		return nil, err
	}
	return all, nil
}

// lines returns a scanner for lines that are no longer than a name can be.
func lines(r io.Reader) *bufio.Scanner {
	const longest = 64 << 10
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, longest), longest)
	// As bufio.ScanLines, which takes a carriage return for a part of the line's end.
	in.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	return in
}

// bounded counts mappings, and keeps their names apart from the lines that they came
// in: neighbors often have the same.
type bounded struct {
	count, names int
	last         string
}

func (b *bounded) add(v *VMA) error {
	if b.count++; b.count > input.MaxMappings {
		return &input.TooLargeError{What: "the process", Most: input.MaxMappings, Unit: "mappings"}
	}
	if v.Name != b.last {
		b.last = strings.Clone(v.Name)
		if b.names += len(v.Name); b.names > input.MaxMappingNames {
			return &input.TooLargeError{What: "the list of the names of its mappings", Most: input.MaxMappingNames}
		}
	}
	v.Name = b.last
	return nil
}

func parseMaps(data []byte) ([]VMA, error) { return scanMaps(bytes.NewReader(data)) }

// scanMaps parses lines such as
//
//	7f2c84000000-7f2c88000000 rw-p 00000000 fe:01 1234    /usr/lib/a file.so
//
// A kernel thread and a zombie have none.
func scanMaps(r io.Reader) ([]VMA, error) {
	var all []VMA
	var b bounded
	in := lines(r)
	for in.Scan() {
		line := in.Text()
		if line == "" {
			continue
		}
		v, err := parseVMA(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(all)+1, err)
		}
		if err := b.add(&v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, in.Err()
}

func parseVMA(line string) (v VMA, err error) {
	var fields [5]string
	for i := range fields {
		var ok bool
		if fields[i], line, ok = strings.Cut(line, " "); !ok && i < len(fields)-1 {
			return v, errors.New("want 5 fields or more")
		}
	}
	start, end, ok := strings.Cut(fields[0], "-")
	perms := fields[1]
	if !ok || len(perms) != 4 {
		return v, fmt.Errorf("want addresses and permissions, have %q", fields[0]+" "+perms)
	}
	number := func(text string, base, bits int) uint64 {
		n, e := strconv.ParseUint(text, base, bits)
		err = errors.Join(err, e)
		return n
	}
	dev, derr := parseDev(fields[3], 16)
	v = VMA{
		Dev:   dev,
		Start: number(start, 16, 64), End: number(end, 16, 64),
		Read: perms[0] == 'r', Write: perms[1] == 'w', Exec: perms[2] == 'x', Shared: perms[3] == 's',
		Offset: number(fields[2], 16, 64),
		Inode:  number(fields[4], 10, 64),
		Name:   strings.ReplaceAll(strings.TrimLeft(line, " "), `\012`, "\n"), // the kernel escapes nothing else
	}
	if err = errors.Join(err, derr); err == nil && v.End <= v.Start {
		err = fmt.Errorf("want start below end, have %q", fields[0])
	}
	if err != nil {
		return VMA{}, err
	}
	return v, nil
}
