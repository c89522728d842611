package procmem

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Tmpfs is a mount of a file system whose files are in memory.
type Tmpfs struct {
	Point string // as processes of the mount namespace name it
	Path  string // as this process opens it
	Dev   uint64 // as of [VMA]
}

// Tmpfs lists the mounts of tmpfs that a process sees, each file system once, by the first of
// its mounts; pid 0 is the calling process. To open them needs the right to ptrace it.
func (f FS) Tmpfs(pid int) (out []Tmpfs, err error) {
	mounts, err := load(f.procPath(pid, "mountinfo"), parseMountinfo)
	if err != nil {
		return nil, err
	}
	seen := make(map[uint64]bool)
	for _, m := range mounts {
		if m.fstype != "tmpfs" && m.fstype != "devtmpfs" || seen[m.dev] {
			continue
		}
		seen[m.dev] = true
		path := f.procPath(pid, "root"+m.point)
		if pid == 0 {
			path = f.path(m.point)
		}
		out = append(out, Tmpfs{Point: m.point, Path: path, Dev: m.dev})
	}
	return out, nil
}

// Namespace returns what identifies a namespace of a process, such as mnt; "" if it may not be
// seen.
func (f FS) Namespace(pid int, kind string) string {
	link, err := os.Readlink(f.procPath(pid, "ns/"+kind))
	if err != nil {
		return ""
	}
	return link
}

// parseDev parses the number of a device as /proc has it, such as fe:01: in base 16 in maps, in
// base 10 in mountinfo.
func parseDev(text string, base int) (uint64, error) {
	major, minor, ok := strings.Cut(text, ":")
	if !ok {
		return 0, fmt.Errorf("want major:minor, have %q", text)
	}
	a, err := strconv.ParseUint(major, base, 32)
	b, err2 := strconv.ParseUint(minor, base, 32)
	return a<<32 | b, errors.Join(err, err2)
}

// A Memfd is a file of shared memory that a process has open and that no directory has.
type Memfd struct {
	Name string // /memfd:name
	Path string // as this process opens it
}

// Memfds lists the memfds that a process has open. A process of another user needs the right to
// ptrace it.
func (f FS) Memfds(pid int) (out []Memfd, err error) {
	dir, err := os.Open(f.procPath(pid, "fd"))
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(mostDescriptors)
	dir.Close()
	if len(names) == 0 && err != nil {
		return nil, nil // EOF: none is open
	}
	for _, name := range names {
		path := f.procPath(pid, "fd/"+name)
		if link, err := os.Readlink(path); err == nil && strings.HasPrefix(link, "/memfd:") {
			out = append(out, Memfd{Name: strings.TrimSuffix(link, " (deleted)"), Path: path})
		}
	}
	return out, nil
}

// A Segment is a segment of System V shared memory.
type Segment struct {
	ID       int
	Attached int    // how many processes
	Bytes    uint64 // in memory
}

// Segments lists the segments of the IPC namespace of this process; none where the kernel has no
// System V memory.
func (f FS) Segments() ([]Segment, error) {
	out, err := load(f.path("proc/sysvipc/shm"), parseSegments)
	if absent(err) {
		return nil, nil
	}
	return out, err
}

func parseSegments(data []byte) (out []Segment, err error) {
	const id, attached, rss = 1, 6, 14 // fields
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) <= rss || fields[0] == "key" {
			continue // the heading
		}
		var s Segment
		var errs [3]error
		s.ID, errs[0] = strconv.Atoi(fields[id])
		s.Attached, errs[1] = strconv.Atoi(fields[attached])
		s.Bytes, errs[2] = strconv.ParseUint(fields[rss], 10, 64)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// PartlyMapped returns how much memory the huge pages of the machine have, of all sizes, of which
// some part is not mapped any more; ok is false where the kernel does not say (before Linux
// 6.12).
func (f FS) PartlyMapped() (n uint64, ok bool) {
	files, _ := filepath.Glob(f.path("sys/kernel/mm/transparent_hugepage/hugepages-*kB/stats/nr_anon_partially_mapped"))
	for _, file := range files {
		_, size, _ := strings.Cut(filepath.Base(filepath.Dir(filepath.Dir(file))), "-")
		kb, err := strconv.ParseUint(strings.TrimSuffix(size, "kB"), 10, 32)
		count, err2 := load(file, parseCount)
		if err != nil || err2 != nil {
			return 0, false
		}
		n, ok = n+count*kb<<10, true
	}
	return n, ok
}
