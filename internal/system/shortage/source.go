package shortage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/foliomem/folio/internal/system/procmem"
)

// A source says how much memory is in use of something, and how much there may be.
type source interface {
	// name is that of the cgroup, "" for the machine.
	name() string
	// usage is memory in use, with file cache: quickly read, and never less than use.
	usage() (uint64, error)
	// use is memory in use but file cache, and what of the cache there is.
	use() (use, cache uint64, err error)
	// limit is how much there may be, 0 for no limit.
	limit() (uint64, error)
	// high is from where on the kernel slows tasks down, 0 for nowhere.
	high() (uint64, error)
	close()
}

// A file is read again and again: it stays open.
type file struct {
	f   *os.File
	buf []byte
}

func openFile(path string) (*file, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &file{f, make([]byte, 8<<10)}, nil
}

func (f *file) read() ([]byte, error) {
	n, err := f.f.ReadAt(f.buf, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return f.buf[:n], nil
}

// number reads a file of one number; 0 for "max".
func (f *file) number() (uint64, error) {
	b, err := f.read()
	if err != nil {
		return 0, err
	}
	text := string(bytes.TrimSpace(b))
	if text == "max" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.f.Name(), err)
	}
	return n, nil
}

// sum adds up the lines "name value" of these names; found is how many there were.
func (f *file) sum(scale uint64, names ...string) (sum uint64, found int, err error) {
	b, err := f.read()
	if err != nil {
		return 0, 0, err
	}
	for line := range bytes.Lines(b) {
		name, value, ok := bytes.Cut(line, []byte(" "))
		if !ok {
			continue
		}
		for _, want := range names {
			if string(name) != want {
				continue
			}
			word, _, _ := bytes.Cut(bytes.TrimSpace(value), []byte(" "))
			n, err := strconv.ParseUint(string(word), 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("%s: %s: %w", f.f.Name(), want, err)
			}
			sum += n * scale
			found++
		}
	}
	return sum, found, nil
}

// none is from where on a limit of version 1 is none.
const none = 1 << 62

// A group is a memory cgroup.
type group struct {
	dir, shown    string
	unified       bool
	current, stat *file
	most          *file
	brake         *file // nil with version 1
	cached        []string
}

// openGroup opens the files of a cgroup. The root of version 2 has none of them.
func openGroup(dir, shown string) (*group, error) {
	g := &group{dir: dir, shown: shown}
	names := [3]string{"memory.usage_in_bytes", "memory.limit_in_bytes", "memory.stat"}
	g.cached = []string{"total_inactive_file", "total_active_file"}
	if _, err := os.Stat(filepath.Join(dir, names[0])); err != nil {
		names = [3]string{"memory.current", "memory.max", "memory.stat"}
		g.cached = []string{"inactive_file", "active_file"}
		g.unified = true
	}
	var err error
	for i, to := range []**file{&g.current, &g.most, &g.stat} {
		if *to, err = openFile(filepath.Join(dir, names[i])); err != nil {
			g.close()
			return nil, err
		}
	}
	if g.unified {
		// Since Linux 4.2, as all of version 2.
		if g.brake, err = openFile(filepath.Join(dir, "memory.high")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

func (g *group) name() string { return g.shown }

func (g *group) usage() (uint64, error) { return g.current.number() }

func (g *group) use() (use, cache uint64, err error) {
	if use, err = g.current.number(); err != nil {
		return 0, 0, err
	}
	if cache, _, err = g.stat.sum(1, g.cached...); err != nil {
		return 0, 0, err
	}
	return use - min(use, cache), cache, nil
}

func (g *group) limit() (uint64, error) {
	n, err := g.most.number()
	if n >= none {
		n = 0
	}
	return n, err
}

func (g *group) high() (uint64, error) {
	if g.brake == nil {
		return 0, nil
	}
	return g.brake.number()
}

func (g *group) close() {
	for _, f := range []*file{g.current, g.most, g.brake, g.stat} {
		if f != nil {
			f.f.Close()
		}
	}
}

// kills returns how many processes of the group any OOM killer has ended.
func (g *group) kills() (uint64, bool) {
	name := "memory.oom_control"
	if g.unified {
		name = "memory.events"
	}
	m, err := procmem.ReadKeyed(filepath.Join(g.dir, name), "oom_kill")
	n, ok := m["oom_kill"]
	return n, ok && err == nil
}

// A machine is all memory.
type machine struct{ meminfo *file }

func openMachine(path string) (*machine, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	return &machine{f}, nil
}

func (m *machine) name() string { return "" }

func (m *machine) usage() (uint64, error) {
	use, _, err := m.use()
	return use, err
}

func (m *machine) use() (use, cache uint64, err error) {
	total, err := m.limit()
	if err != nil {
		return 0, 0, err
	}
	free, found, err := m.meminfo.sum(1024, "MemAvailable:")
	if err == nil && found == 0 {
		err = fmt.Errorf("%s: no MemAvailable: needs Linux 3.14", m.meminfo.f.Name())
	}
	return total - min(total, free), 0, err
}

func (m *machine) limit() (uint64, error) {
	n, _, err := m.meminfo.sum(1024, "MemTotal:")
	return n, err
}

func (m *machine) high() (uint64, error) { return 0, nil }

func (m *machine) close() { m.meminfo.f.Close() }
