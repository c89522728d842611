package procmem

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// mount is one line of /proc/PID/mountinfo. See proc_pid_mountinfo(5).
type mount struct {
	root    string // which directory of the file system is mounted
	point   string // where
	fstype  string
	dev     uint64   // as of [VMA]
	options []string // of the file system; cgroup v1 lists its controllers here
}

func (m mount) has(option string) bool { return slices.Contains(m.options, option) }

// mounts reads the mounts that the calling process sees: they are where it can
// open files, whichever process it asks about.
func (f FS) mounts() ([]mount, error) {
	return load(f.procPath(0, "mountinfo"), parseMountinfo)
}

func parseMountinfo(data []byte) ([]mount, error) {
	var mounts []mount
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		m, err := parseMount(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(mounts)+1, err)
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// parseMount parses
//
//	36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//
// where any number of tagged fields stands before the lone "-".
func parseMount(line string) (mount, error) {
	// The kernel escapes spaces, so " " separates, and a field may be empty.
	fields := strings.Split(line, " ")
	const fixed = 6
	if len(fields) < fixed {
		return mount{}, fmt.Errorf("want %d or more fields, have %d", fixed, len(fields))
	}
	dash := slices.Index(fields[fixed:], "-")
	if dash < 0 {
		return mount{}, errors.New("no separator -")
	}
	tail := fields[fixed+dash+1:]
	if len(tail) < 3 {
		return mount{}, fmt.Errorf("want 3 fields after -, have %d", len(tail))
	}
	dev, err := parseDev(fields[2], 10)
	if err != nil {
		return mount{}, err
	}
	return mount{
		dev:     dev,
		root:    unescapeOctal(fields[3]),
		point:   unescapeOctal(fields[4]),
		fstype:  tail[0],
		options: strings.Split(tail[2], ","),
	}, nil
}

// unescapeOctal undoes the kernel's \040 for space, \011 tab, \012 newline and
// \134 backslash.
func unescapeOctal(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	digit := func(c byte, most byte) bool { return '0' <= c && c <= most }
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && digit(s[i+1], '3') && digit(s[i+2], '7') && digit(s[i+3], '7') {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
