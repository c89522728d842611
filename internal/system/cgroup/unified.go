package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/system/procmem"
)

// A stay is what was changed in a cgroup of version 2 to make others below it. There a
// cgroup that hands controllers down has no processes of its own (but for the root), so this
// process moves into one below it.
type stay struct {
	dir     string   // that this process was in
	leaf    string   // where it is now; "" if it did not move
	enabled []string // the controllers that were turned on for what is below dir
}

// unify finds the place of version 2 for the controllers: below the cgroup of this process,
// or where all that is needed is turned on already.
func (p *Parent) unify(fs procmem.FS, x *place) error {
	own, err := fs.CgroupDir(0, x.controllers[0])
	if err != nil {
		return err
	}
	st, err := p.enter(fs, own.Path, x.controllers)
	if err == nil {
		p.stay = st
		return nil
	}
	// Directories above are systemd's where it runs: it takes no others there.
	if !fs.Systemd() {
		for _, dir := range own.Above {
			if lacks(dir, "cgroup.subtree_control", x.controllers) == nil {
				x.dir = dir
				return nil
			}
		}
	}
	return err
}

// lacks returns which of the controllers are not in a file of a cgroup.
func lacks(dir, file string, controllers []string) (out []string) {
	have := words(filepath.Join(dir, file))
	for _, c := range controllers {
		if !slices.Contains(have, c) {
			out = append(out, c)
		}
	}
	return out
}

// enter makes a cgroup such that others with these controllers can be made below it.
func (p *Parent) enter(fs procmem.FS, dir string, controllers []string) (_ *stay, err error) {
	if missing := lacks(dir, "cgroup.controllers", controllers); missing != nil {
		return nil, fmt.Errorf("%s may not use the controllers %s", dir, strings.Join(missing, ", "))
	}
	st := &stay{dir: dir}
	off := lacks(dir, "cgroup.subtree_control", controllers)
	if off == nil {
		return st, nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.end(p.kernel))
		}
	}()
	// The root of the system has no type, and may have processes.
	if _, err := os.Stat(filepath.Join(dir, "cgroup.type")); err == nil {
		if err := p.moveDown(fs, st); err != nil {
			return nil, err
		}
	}
	for _, c := range off {
		if err := p.kernel.write(filepath.Join(dir, "cgroup.subtree_control"), "+"+c); err != nil {
			return nil, fmt.Errorf("turn the %s controller on: %w", c, err)
		}
		st.enabled = append(st.enabled, c)
	}
	return st, nil
}

// moveDown moves this process and those below it into a cgroup of their own. Processes of
// others are not moved.
func (p *Parent) moveDown(fs procmem.FS, st *stay) error {
	in, err := processes(st.dir)
	if err != nil {
		return err
	}
	ours, _ := fs.Descendants(os.Getpid())
	ours = append(ours, os.Getpid())
	for _, pid := range in {
		if !slices.Contains(ours, pid) {
			return fmt.Errorf("another process (%s) is in %s, which must be folio's alone", named(fs, pid), st.dir)
		}
	}
	leaf := filepath.Join(st.dir, p.owner.name("self"))
	if err := p.kernel.mkdir(leaf); err != nil {
		return err
	}
	st.leaf = leaf
	for _, pid := range in {
		err := p.kernel.write(filepath.Join(leaf, "cgroup.procs"), strconv.Itoa(pid))
		if err != nil && !(procmem.Gone(err) && pid != os.Getpid()) { // it ended
			return fmt.Errorf("move into %s: %w", leaf, err)
		}
	}
	return nil
}

func named(fs procmem.FS, pid int) string {
	if st, err := fs.Stat(pid); err == nil && pid > 0 {
		return fmt.Sprintf("%s, %d", st.Comm, pid)
	}
	return strconv.Itoa(pid)
}

// end puts back what was changed.
func (st *stay) end(k kernel) error {
	if st == nil {
		return nil
	}
	var errs []error
	for _, c := range st.enabled {
		if err := k.write(filepath.Join(st.dir, "cgroup.subtree_control"), "-"+c); err != nil && !gone(err) {
			errs = append(errs, fmt.Errorf("turn the %s controller off: %w", c, err))
		}
	}
	st.enabled = nil
	if st.leaf == "" {
		return errors.Join(errs...)
	}
	in, _ := processes(st.leaf)
	for _, pid := range in {
		if err := k.write(filepath.Join(st.dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil && !procmem.Gone(err) {
			errs = append(errs, fmt.Errorf("move out of %s: %w", st.leaf, err))
		}
	}
	if err := k.rmdir(st.leaf); err != nil && !gone(err) {
		errs = append(errs, err)
	}
	st.leaf = ""
	return errors.Join(errs...)
}
