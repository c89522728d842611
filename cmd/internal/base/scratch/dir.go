package scratch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// prefix begins the names of temporary directories.
const prefix = "folio-tmp-"

// A Dir is a temporary directory that is gone when folio ends. A signal that asks
// folio to end does not do so as long as there is one: whoever makes a Dir is told of
// signals as well, and removes it. What a folio leaves that was killed, the next one
// removes, which makes a Dir in the same place.
//
// The directory is locked (flock) for as long as the process lives, so that it is
// never taken for one that was left.
type Dir struct {
	Path string

	lock   *os.File
	caught chan os.Signal
}

// dirs are those that are there.
var dirs = struct {
	sync.Mutex
	all map[*Dir]bool
}{all: make(map[*Dir]bool)}

// New makes a directory, mode 0700, in base, which is the user's GOTMPDIR; by default
// where the system has temporary ones. First it removes what was left there.
func New(base string) (*Dir, error) {
	variable := "GOTMPDIR"
	if base == "" {
		base, variable = os.TempDir(), "TMPDIR"
	}
	Sweep(base)
	d := &Dir{caught: make(chan os.Signal, 1)}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(d.caught, s)
		}
	}
	if err := d.make(base); err != nil {
		signal.Stop(d.caught)
		return nil, fmt.Errorf("make a temporary directory: %w: set %s to a directory that can be written", err, variable)
	}
	dirs.Lock()
	defer dirs.Unlock()
	dirs.all[d] = true
	return d, nil
}

// errSwept says that another folio took a new directory for one that was left.
var errSwept = errors.New("removed by another folio")

func (d *Dir) make(base string) error {
	const tries = 100
	err := errSwept
	for range tries {
		if d.Path, err = os.MkdirTemp(base, prefix); err != nil {
			return err
		}
		if d.lock, err = hold(d.Path); err == nil {
			return nil
		} else if !errors.Is(err, errSwept) {
			return errors.Join(err, os.RemoveAll(d.Path))
		}
	}
	return err
}

// Remove removes the directory, once.
func (d *Dir) Remove() error {
	dirs.Lock()
	defer dirs.Unlock()
	if !dirs.all[d] {
		return nil
	}
	delete(dirs.all, d)
	defer signal.Stop(d.caught)
	return d.remove()
}

func (d *Dir) remove() error {
	err := os.RemoveAll(d.Path)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

// RemoveAll removes all directories of this process: for the moment before it ends out
// of order.
func RemoveAll() {
	dirs.Lock()
	defer dirs.Unlock()
	for d := range dirs.all {
		_ = d.remove()
		delete(dirs.all, d)
	}
}

// Sweep removes the directories in base that a folio of this user left that was killed:
// those that nobody has locked.
func Sweep(base string) {
	base = cmp.Or(base, os.TempDir())
	if !sweepable(base) {
		return
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
			sweep(filepath.Join(base, e.Name()))
		}
	}
}
