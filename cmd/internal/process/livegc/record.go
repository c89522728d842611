package livegc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
)

// ErrHeld says that another folio has set a process for a while, and will take that back.
var ErrHeld = errors.New("another folio has set it for a while: wait, or end that one with ctrl-C")

// A record is a file for a process: what folio set last, so that it can be told from what
// the program sets; locked while a folio is to take it back.
type record struct {
	path string
	file *os.File
}

// openRecord opens the file of a process, there or not, and removes those of processes that
// are gone.
func openRecord(fs procmem.FS, pid int, started time.Duration) (*record, error) {
	dir, err := recordDir()
	if err != nil {
		return nil, err
	}
	r := &record{path: filepath.Join(dir, fmt.Sprintf("set-%d-%d", pid, started.Milliseconds()))}
	others, _ := filepath.Glob(filepath.Join(dir, "set-*-*"))
	for _, other := range others {
		parts := strings.Split(filepath.Base(other), "-")
		n, err := strconv.Atoi(parts[1])
		if err != nil || other == r.path {
			continue
		}
		if st, err := fs.Stat(n); errors.Is(err, os.ErrNotExist) || err == nil && strconv.FormatInt(st.StartTime.Milliseconds(), 10) != parts[2] {
			_ = os.Remove(other)
		}
	}
	return r, nil
}

// recordDir is a directory of this user, which nobody else may write into.
func recordDir() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("folio-%d", os.Geteuid()))
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
		dir = filepath.Join(run, "folio")
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || !mine(info) || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("%s is not a directory that only this user may write into: remove it, or set XDG_RUNTIME_DIR", dir)
	}
	return dir, nil
}

// open opens the file, and makes it where it is not there.
func (r *record) open() (err error) {
	if r.file == nil {
		r.file, err = os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	}
	return err
}

func (r *record) lock() error {
	if err := r.open(); err != nil {
		return err
	}
	return lock(r.file)
}

// read returns what folio set last; the zero value if it did not.
func (r *record) read() (s goruntime.GCSettings, err error) {
	data, err := os.ReadFile(r.path)
	if err == nil {
		_, err = fmt.Sscan(string(data), &s.Percent, &s.Limit)
	}
	return s, err
}

func (r *record) write(s goruntime.GCSettings) error {
	if err := r.open(); err != nil {
		return err
	}
	if err := r.file.Truncate(0); err != nil {
		return err
	}
	_, err := r.file.WriteAt(recorded(s), 0)
	return err
}

// recorded is what the file says of settings.
func recorded(s goruntime.GCSettings) []byte { return fmt.Appendf(nil, "%d %d\n", s.Percent, s.Limit) }

func (r *record) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
