package procmem

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// least returns the least of the limits of a process's cgroup and all above it that are
// visible. read reads one, nil for none.
func least[T uint64 | float64](f FS, pid int, controller string, read func(dir string, unified bool) (*T, error)) (limit T, ok bool, err error) {
	groups, err := load(f.procPath(pid, "cgroup"), parseCgroup)
	if err != nil {
		return 0, false, err
	}
	mounts, err := f.mounts()
	if err != nil {
		return 0, false, err
	}
	for _, g := range groups {
		if !g.unified() && !slices.Contains(g.controllers, controller) {
			continue
		}
		for _, dir := range limitDirs(g, mounts, controller) {
			l, err := read(dir, g.unified())
			switch {
			case noLimit(err):
				continue
			case err != nil:
				return 0, false, err
			}
			if l != nil && (!ok || *l < limit) {
				limit, ok = *l, true
			}
		}
	}
	return limit, ok, nil
}

// noLimit says that a cgroup has no such limit: a cgroup namespace or a stale path names
// directories that are not there, and the root cgroup of version 2 lacks the file.
func noLimit(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENODEV)
}

// cgroup is one line of /proc/PID/cgroup: "4:memory:/path", or "0::/path" for
// version 2. See cgroups(7).
type cgroup struct {
	controllers []string // none for version 2
	path        string   // from the root of the reader's cgroup namespace
}

func (g cgroup) unified() bool { return len(g.controllers) == 0 }

func parseCgroup(data []byte) ([]cgroup, error) {
	var groups []cgroup
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		fields := strings.SplitN(line, ":", 3)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
			return nil, fmt.Errorf("want id:controllers:/path, have %q", line)
		}
		g := cgroup{path: fields[2]}
		if fields[1] != "" {
			g.controllers = strings.Split(fields[1], ",")
		} else if fields[0] != "0" {
			return nil, fmt.Errorf("no controllers in %q", line)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// limitDirs lists the directories whose limits of a controller bind g, from its own up to
// the mount point.
func limitDirs(g cgroup, mounts []mount, controller string) []string {
	var dirs []string
	for _, m := range mounts {
		if g.unified() != (m.fstype == "cgroup2") || !g.unified() && (m.fstype != "cgroup" || !m.has(controller)) {
			continue
		}
		// Where the process lies below what is mounted. A container that has
		// its host's path in /proc/self/cgroup, or a process outside the cgroup
		// namespace ("/../other"), is not below it: then the mounted directory
		// is the best there is, and in a container it is the container's own.
		below, ok := relative(m.root, g.path)
		if !ok {
			below = "/"
		}
		for {
			dirs = append(dirs, path.Join(m.point, below))
			if below == "/" {
				break
			}
			below = path.Dir(below)
		}
	}
	return dirs
}

// relative returns the part of a cgroup path below root, starting with "/".
func relative(root, group string) (string, bool) {
	if slices.Contains(strings.Split(group, "/"), "..") || !path.IsAbs(root) {
		return "", false
	}
	if root == "/" {
		return path.Clean(group), true
	}
	rest, ok := strings.CutPrefix(path.Clean(group), path.Clean(root))
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return path.Join("/", rest), true
}

// unlimited is what no limit is: version 1 writes a number near 2^63 for none.
const unlimited = 1 << 62

// parseLimit returns nil for "max", and for the number near 2^63 that means
// unlimited in version 1 (it depends on the page size).
func parseLimit(data []byte) (*uint64, error) {
	text := strings.TrimSpace(string(data))
	if text == "max" {
		return nil, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil, err
	}
	if n >= unlimited {
		return nil, nil
	}
	return &n, nil
}
