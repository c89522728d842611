package charge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Group is a memory cgroup.
type Group struct {
	procmem.MemoryGroup
	Dir     string
	Unified bool
}

// ErrNotCounted says that a directory of cgroups does not count memory.
var ErrNotCounted = errors.New("it has neither memory.current nor memory.usage_in_bytes: it is the root of version 2, of another controller, or without the memory controller")

// ErrNotFound says that there is no such cgroup.
var ErrNotFound = usage.Errorf("no such cgroup: want a directory with cgroup.procs, the id of a process, or the last part of a cgroup's path, such as orders.service or a container's id")

// At returns the memory cgroup of a directory.
func At(dir string) (Group, error) {
	dir = filepath.Clean(dir)
	for _, unified := range []bool{true, false} {
		file := "memory.usage_in_bytes"
		if unified {
			file = "memory.current"
		}
		if regular(filepath.Join(dir, file)) && regular(filepath.Join(dir, "memory.stat")) {
			return Group{procmem.MemoryGroupAt(dir, unified), dir, unified}, nil
		}
	}
	return Group{}, fmt.Errorf("%s: %w", dir, ErrNotCounted)
}

// OfProcess returns the memory cgroup that a process is charged to: its own, or of version 2 the
// nearest above that has the controller. pid 0 is the calling process.
func OfProcess(f procmem.FS, pid int) (Group, error) {
	dir, err := f.CgroupDir(pid, "memory")
	if err != nil {
		return Group{}, err
	}
	g, err := At(dir.Path)
	for i := 0; err != nil && i < len(dir.Above); i++ {
		if above, aerr := At(dir.Above[i]); aerr == nil {
			return above, nil
		}
	}
	return g, err
}

// Find returns the memory cgroup that is named: by a directory, as it is or below where cgroups
// are mounted; by a process in it; or by the end of its path.
func Find(f procmem.FS, name string) (Group, error) {
	if pid, err := processID(f, name); err != nil {
		return Group{}, err
	} else if pid > 0 {
		g, err := OfProcess(f, pid)
		if err != nil {
			return Group{}, fmt.Errorf("the cgroup of process %d: %w", pid, err)
		}
		return g, nil
	}
	dir, err := FindDir(f, name)
	if err != nil {
		return Group{}, err
	}
	return At(dir)
}

// processID returns the process whose id a name is; 0 if it is not an id.
func processID(f procmem.FS, name string) (int, error) {
	pid, err := strconv.Atoi(name)
	if err != nil || pid <= 0 || name[0] == '0' {
		return 0, nil
	}
	if _, err := f.Find(pid); err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	return pid, nil
}

// Directory returns the directory of the cgroup that is named as in [Find], whether it counts
// memory or not; of a process its own.
func Directory(f procmem.FS, name string) (string, error) {
	pid, err := processID(f, name)
	switch {
	case err != nil:
		return "", err
	case pid == 0:
		return FindDir(f, name)
	}
	dir, err := f.CgroupDir(pid, "memory")
	if err != nil {
		return "", fmt.Errorf("the cgroup of process %d: %w", pid, err)
	}
	return dir.Path, nil
}

// FindDir returns the directory of the cgroup that is named as in [Find], but for processes.
func FindDir(f procmem.FS, name string) (string, error) {
	if name == "" {
		return "", ErrNotFound
	}
	if isGroup(name) {
		return filepath.Abs(name)
	}
	root, err := root(f)
	if err != nil {
		return "", err
	}
	if dir := filepath.Join(root, name); isGroup(dir) {
		return dir, nil
	}
	if strings.ContainsRune(name, '/') {
		return "", ErrNotFound
	}
	return search(root, name)
}

func isGroup(dir string) bool { return regular(filepath.Join(dir, "cgroup.procs")) }

// regular reports whether there is such a file that can be read without waiting: a directory that
// looks like a cgroup may hold a pipe.
func regular(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// root is where the hierarchy that counts memory is mounted.
func root(f procmem.FS) (string, error) {
	own, err := f.CgroupDir(0, "memory")
	if err != nil {
		return "", err
	}
	if n := len(own.Above); n > 0 {
		return own.Above[n-1], nil
	}
	return own.Path, nil
}

// search looks for the cgroup whose name is the last part of a path: as a whole or without a
// suffix of systemd, else as a part of it, as the id of a container is.
func search(root, name string) (string, error) {
	const fewest = 8 // letters of a part
	var whole, part []string
	_ = filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // gone meanwhile
		}
		base := d.Name()
		unit, _, _ := strings.Cut(base, ".")
		switch {
		case base == name || unit == name && slices.Contains([]string{".service", ".scope", ".slice"}, filepath.Ext(base)):
			whole = append(whole, dir)
		case len(name) >= fewest && strings.Contains(base, name):
			part = append(part, dir)
		}
		return nil
	})
	found := whole
	if len(found) == 0 {
		found = part
	}
	switch len(found) {
	case 0:
		return "", ErrNotFound
	case 1:
		return found[0], nil
	}
	const most = 5
	text := strings.Join(found[:min(most, len(found))], ", ")
	if more := len(found) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "", usage.Errorf("%d cgroups have that name, say which by its path: %s", len(found), text)
}

// root reports whether it is the root of version 1: its charge is pages that are mapped and the page
// cache, without the kernel's own memory.
func (g Group) root() bool { return !g.Unified && regular(filepath.Join(g.Dir, "release_agent")) }

// limit is the memory limit in effect: the smallest of the group and all above it.
func (g Group) limit(f procmem.FS) *uint64 {
	var levels []procmem.GroupMemory
	for dir := g.Dir; isGroup(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		m, err := procmem.MemoryGroupAt(dir, g.Unified).Read()
		if err != nil {
			break
		}
		levels = append(levels, m)
	}
	var total *uint64
	if m, err := f.Meminfo(); err == nil {
		total = m.MemTotal
	}
	if i, bytes, _ := procmem.LimitInEffect(levels, total); i >= 0 {
		return &bytes
	}
	return nil
}

// swaps reports whether memory of the group can go to swap.
func (g Group) swaps(f procmem.FS) bool {
	if m, err := f.Meminfo(); err != nil || m.SwapTotal == nil || *m.SwapTotal == 0 {
		return false
	}
	file := "memory.swappiness"
	if g.Unified {
		file = "memory.swap.max"
	}
	n, err := procmem.ReadNumber(filepath.Join(g.Dir, file))
	return err == nil && (n == nil || *n > 0)
}
