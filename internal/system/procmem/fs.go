// Package procmem reads what the kernel says about memory: /proc, the
// transparent huge page policy in /sys, and memory cgroups.
//
// Every file is read below the root of an [FS]: "/" in production, a directory
// of plain files in tests. A number that the kernel does not give is nil or
// comes with ok == false; zero always means that the kernel said zero. Sizes
// are bytes, whatever unit the kernel's file has.
//
// The package builds on every system. Where there is no /proc the files are
// absent, and the methods return errors for which errors.Is(err,
// fs.ErrNotExist) holds.
package procmem

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/foliomem/folio/internal/base/input"
)

// FS reads kernel files below a root. The zero value reads the running system.
type FS struct {
	root  string // "" is the real root
	page  int    // bytes; 0 asks the system
	smaps bool   // Counted reads smaps
}

// New returns an FS that reads below root; "" and "/" are the running system.
func New(root string) FS {
	if root == "" || filepath.Clean(root) == string(filepath.Separator) {
		return FS{}
	}
	return FS{root: root}
}

// WithPageSize returns f for files that were written by a kernel with base
// pages of this many bytes: a fixture's page size is not this machine's.
func (f FS) WithPageSize(bytes int) FS {
	f.page = bytes
	return f
}

// PageSize returns the size of a base page in bytes.
func (f FS) PageSize() int {
	if f.page > 0 {
		return f.page
	}
	return os.Getpagesize()
}

// Gone reports whether err says that a process vanished while it was read.
// An open finds no file then, a read of an open file fails with ESRCH.
func Gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

func (f FS) path(name string) string {
	return filepath.Join(f.root+string(filepath.Separator), filepath.FromSlash(name))
}

// procPath names a file of a process; pid 0 is the calling process.
func (f FS) procPath(pid int, file string) string {
	if pid == 0 {
		return f.path("proc/self/" + file)
	}
	return f.path("proc/" + strconv.Itoa(pid) + "/" + file)
}

// load reads and parses one file. The errors of os name the operation and the
// path already.
func load[T any](path string, parse func([]byte) (T, error)) (T, error) {
	return loadBy(readFile, path, parse)
}

// loadBy is load with a choice of how to read: by readSlowly what takes the
// kernel a while.
func loadBy[T any](read func(path string) ([]byte, error), path string, parse func([]byte) (T, error)) (T, error) {
	data, err := read(path)
	if err != nil {
		var none T
		return none, err
	}
	v, err := parse(data)
	if err != nil {
		var none T
		return none, fmt.Errorf("parse %s: %w", path, err)
	}
	return v, nil
}

// readSlowly reads a file that takes the kernel a while: other goroutines go on.
func readSlowly(path string) ([]byte, error) { return readSlowlyMost(path, input.MaxProc) }

func readSlowlyMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return input.ReadAll(f, path, most)
}

var (
	errEmpty    = errors.New("no known field")
	errOverflow = errors.New("value out of range")
)

// eachField calls fn for every "Key:   value" line. Lines of another shape,
// such as the address range that heads smaps_rollup, are passed over.
func eachField(data []byte, fn func(key, value string) error) error {
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		if err := fn(key, strings.TrimSpace(value)); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// setSizes stores the "123 kB" lines that are named in want, as bytes, and
// returns how many it found. Fields that the kernel lacks stay nil.
func setSizes(data []byte, want map[string]**uint64) (found int, err error) {
	err = eachField(data, func(key, value string) error {
		dst, ok := want[key]
		if !ok {
			return nil
		}
		n, err := parseKB(value)
		if err != nil {
			return err
		}
		*dst = &n
		found++
		return nil
	})
	return found, err
}

// parseKB turns "123 kB" into bytes. The kernel means KiB by kB.
func parseKB(value string) (uint64, error) {
	digits, ok := strings.CutSuffix(value, " kB")
	if !ok {
		return 0, fmt.Errorf("no unit kB in %q", value)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 64)
	if err != nil {
		return 0, err
	}
	if n > math.MaxUint64/1024 {
		return 0, errOverflow
	}
	return n * 1024, nil
}
