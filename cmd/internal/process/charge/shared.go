package charge

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Pages says what of a range of a process is in memory.
type Pages interface {
	Residency(r page.Range, o *page.ResidencyOptions) (page.Residency, error)
	Close() error
}

func openPages(pid int) (Pages, error) { return page.OpenProcess(pid) }

// Holds says what a file system, or a file, has in memory.
type Holds interface {
	// Mounted is what the file system of a device holds that is mounted at a path; ok is false if
	// another one is.
	Mounted(path string, dev uint64) (bytes uint64, ok bool)
	// File is what a file holds, and which it is.
	File(path string) (id FileID, bytes uint64, ok bool)
}

// A FileID tells a file from others.
type FileID struct{ Dev, Inode uint64 }

// shared is the shared memory that processes have.
type shared struct {
	mapped uint64            // what any of them maps, each page once
	files  map[FileID]uint64 // of it by file
	// unmapped is what mounts and others hold that no process maps, of whatever cgroup is charged.
	unmapped []waterfall.Share
}

// holders names what the unmapped shared memory may be.
func (s *shared) holders(bytes uint64) (out []waterfall.Share) {
	const most, least = 10, 64 << 10
	slices.SortStableFunc(s.unmapped, func(a, b waterfall.Share) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, u := range s.unmapped {
		if u.Bytes = min(u.Bytes, bytes); u.Bytes >= least && len(out) < most {
			out = append(out, u)
		}
	}
	return out
}

// readShared reads the shared memory of all processes, and what holds more.
func (r *reading) readShared() {
	runs := make(map[FileID][]page.Range) // of offsets in the file
	r.shared.files = make(map[FileID]uint64)
	mounts := r.mounts()
	for _, p := range r.Processes {
		if value(p.Shared) == 0 {
			continue
		}
		if err := r.sharedOf(p.PID, mounts, runs); err != nil {
			r.shared.mapped += *p.Shared // each page as often as it is mapped
		}
	}
	for id, of := range runs {
		n := union(of)
		r.shared.files[id] = n
		r.shared.mapped += n
	}
	for _, m := range mounts {
		bytes, ok := r.Holds.Mounted(m.Path, m.Dev)
		if !ok {
			continue
		}
		for id, n := range r.shared.files {
			if id.Dev == m.Dev {
				bytes = less(bytes, n)
			}
		}
		r.shared.unmapped = append(r.shared.unmapped, waterfall.Share{Name: m.Point, Bytes: bytes})
	}
	r.memfds()
	segments, _ := r.FS.Segments() // none where they may not be seen
	for _, s := range segments {
		if s.Attached == 0 {
			r.shared.unmapped = append(r.shared.unmapped, waterfall.Share{Name: fmt.Sprintf("System V segment %d, of no process", s.ID), Bytes: s.Bytes})
		}
	}
}

// mounts are those of tmpfs that processes of the cgroup see, or if there is none, this process.
func (r *reading) mounts() (out []procmem.Tmpfs) {
	seen := make(map[string]bool)
	add := func(pid int) {
		all, err := r.FS.Tmpfs(pid)
		if err != nil {
			return
		}
		for _, m := range all {
			if !slices.ContainsFunc(out, func(o procmem.Tmpfs) bool { return o.Dev == m.Dev }) {
				out = append(out, m)
			}
		}
	}
	for _, p := range r.Processes {
		space := r.FS.Namespace(p.PID, "mnt")
		if space == "" || seen[space] {
			continue
		}
		seen[space] = true
		if space == r.FS.Namespace(0, "mnt") {
			add(0)
			continue
		}
		add(p.PID)
	}
	if len(seen) == 0 {
		add(0)
	}
	return out
}

// sharedOf adds which pages of shared memory a process maps.
func (r *reading) sharedOf(pid int, mounts []procmem.Tmpfs, runs map[FileID][]page.Range) error {
	all, err := r.FS.Maps(pid)
	if err != nil {
		return err
	}
	var pages Pages
	for _, v := range all {
		if !inMemory(v, mounts) {
			continue
		}
		if pages == nil {
			if pages, err = r.Pages(pid); err != nil {
				return err
			}
			defer pages.Close()
		}
		id := FileID{v.Dev, v.Inode}
		in := page.Range{Start: uintptr(v.Start), End: uintptr(v.End)}
		_, err := pages.Residency(in, &page.ResidencyOptions{Runs: func(run page.Range) {
			start, end := max(run.Start, in.Start), min(run.End, in.End)
			if start < end {
				at := uintptr(v.Offset)
				runs[id] = append(runs[id], page.Range{Start: start - in.Start + at, End: end - in.Start + at})
			}
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// inMemory reports whether a mapping is of shared memory: of a file of tmpfs, or of none that a
// directory has.
func inMemory(v procmem.VMA, mounts []procmem.Tmpfs) bool {
	if v.Inode == 0 {
		return false
	}
	for _, prefix := range []string{"/dev/shm/", "/memfd:", "/SYSV", "/dev/zero", "[anon_shmem"} {
		if strings.HasPrefix(v.Name, prefix) {
			return true
		}
	}
	return slices.ContainsFunc(mounts, func(m procmem.Tmpfs) bool { return m.Dev == v.Dev })
}

// union is how much ranges have, each part once.
func union(all []page.Range) (n uint64) {
	slices.SortFunc(all, func(a, b page.Range) int { return cmp.Compare(a.Start, b.Start) })
	var end uintptr
	for _, r := range all {
		if start := max(r.Start, end); r.End > start {
			n += uint64(r.End - start)
			end = r.End
		}
	}
	return n
}

// memfds adds files of shared memory that are open and have pages that no process maps.
func (r *reading) memfds() {
	seen := make(map[FileID]bool)
	for _, p := range r.Processes {
		if p.PID == os.Getpid() {
			continue
		}
		all, err := r.FS.Memfds(p.PID)
		if err != nil {
			continue // it may not be seen
		}
		for _, m := range all {
			id, bytes, ok := r.Holds.File(m.Path)
			if !ok || seen[id] {
				continue
			}
			seen[id] = true
			r.shared.unmapped = append(r.shared.unmapped,
				waterfall.Share{Name: fmt.Sprintf("%s, open in process %d", m.Name, p.PID), Bytes: less(bytes, r.shared.files[id])})
		}
	}
}
