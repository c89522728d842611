package perf

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/base/input"
)

// parseMaps returns the executable mappings in a /proc/PID/maps. Lines that
// make no sense are left out, and those beyond what is read of a process.
func parseMaps(pid int, text io.Reader) []Mapping {
	var out []Mapping
	names, last := 0, ""
	in := bufio.NewReaderSize(text, 16<<10) // longer than a name can be
	for len(out) < input.MaxMappings && names <= input.MaxMappingNames {
		line, err := in.ReadSlice('\n')
		if m, ok := parseMapsLine(string(bytes.TrimSuffix(line, []byte{'\n'}))); ok && m.Exec {
			if m.Path != last { // neighbors often have the same
				last = strings.Clone(m.Path)
				names += len(last)
			}
			m.PID, m.Path = pid, last
			out = append(out, m)
		}
		if err != nil {
			break
		}
	}
	return out
}

// parseMapsLine parses "55a0c0a00000-55a0c0b00000 r-xp 00001000 fe:01 1234   /bin/true".
func parseMapsLine(line string) (m Mapping, ok bool) {
	var fields [5]string
	for i := range fields {
		var found bool
		if fields[i], line, found = strings.Cut(line, " "); !found && i < 4 {
			return m, false
		}
	}
	first, last, _ := strings.Cut(fields[0], "-")
	major, minor, _ := strings.Cut(fields[3], ":")
	var bad bool
	number := func(s string, base, bits int) uint64 {
		v, err := strconv.ParseUint(s, base, bits)
		bad = bad || err != nil
		return v
	}
	m.Addr, m.Len = number(first, 16, 64), number(last, 16, 64)
	m.Exec = strings.Contains(fields[1], "x")
	m.Offset = number(fields[2], 16, 64)
	m.Major, m.Minor = uint32(number(major, 16, 32)), uint32(number(minor, 16, 32))
	m.Inode = number(fields[4], 10, 64)
	if bad || m.Len <= m.Addr {
		return Mapping{}, false
	}
	m.Len -= m.Addr
	// The kernel escapes newlines, and nothing else.
	m.Path = strings.ReplaceAll(strings.TrimLeft(line, " "), `\012`, "\n")
	return m, true
}
