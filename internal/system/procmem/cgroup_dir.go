package procmem

import (
	"errors"
	"os"
	"path"
	"slices"
)

// A CgroupDir is the directory of a process in one hierarchy of cgroups.
type CgroupDir struct {
	Path string // as this process opens it
	// Above are the directories above it, from its parent up to the mount point.
	Above   []string
	Unified bool // version 2
}

// ErrNoCgroup says that a process is in no cgroup that can be seen here.
var ErrNoCgroup = errors.New("no hierarchy of cgroups is mounted where this process can see its own")

// CgroupDir returns where a process is in the hierarchy that may have a controller: in
// version 1 the one that has it, else the one of version 2, which has all that version 1
// does not, or nobody does. pid 0 is the calling process.
func (f FS) CgroupDir(pid int, controller string) (CgroupDir, error) {
	groups, err := load(f.procPath(pid, "cgroup"), parseCgroup)
	if err != nil {
		return CgroupDir{}, err
	}
	mounts, err := f.mounts()
	if err != nil {
		return CgroupDir{}, err
	}
	find := func(unified bool) (CgroupDir, bool) {
		for _, g := range groups {
			if g.unified() != unified || !unified && !slices.Contains(g.controllers, controller) {
				continue
			}
			for _, m := range mounts {
				if unified != (m.fstype == "cgroup2") || !unified && (m.fstype != "cgroup" || !m.has(controller)) {
					continue
				}
				below, ok := relative(m.root, g.path)
				if !ok {
					continue
				}
				dir := CgroupDir{Path: f.path(path.Join(m.point, below)), Unified: unified}
				for below != "/" {
					below = path.Dir(below)
					dir.Above = append(dir.Above, f.path(path.Join(m.point, below)))
				}
				return dir, true
			}
		}
		return CgroupDir{}, false
	}
	for _, unified := range []bool{false, true} {
		if dir, ok := find(unified); ok {
			return dir, nil
		}
	}
	return CgroupDir{}, ErrNoCgroup
}

// Systemd says that systemd runs the system, as sd_booted(3) does: it owns the cgroups
// then, and gives parts of them away.
func (f FS) Systemd() bool {
	info, err := os.Stat(f.path("run/systemd/system"))
	return err == nil && info.IsDir()
}

// ReadKeyed picks the lines "name value" of these names from a file of a cgroup, such as
// cpu.stat. Those that it lacks are missing; the file may be, too.
func ReadKeyed(file string, names ...string) (map[string]uint64, error) {
	out, err := load(file, func(data []byte) (map[string]uint64, error) { return parseKeyed(data, names...) })
	if absent(err) {
		return nil, nil
	}
	return out, err
}

// ReadNumber reads a file of a cgroup with one number; nil for "max", for what version 1
// has instead, and for a file that is not there.
func ReadNumber(file string) (*uint64, error) {
	n, err := load(file, parseLimit)
	if absent(err) {
		return nil, nil
	}
	return n, err
}

// ReadPressure reads a file of PSI, such as memory.pressure of a cgroup; ok is false where
// the kernel has none.
func ReadPressure(file string) (p Pressure, ok bool, err error) {
	return PressureSource{[]string{file}}.Read()
}
