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

// A record is the path of a file with what folio set last in a process, by which it tells its
// own settings from the program's. Nothing else depends on it: "" where there is no directory
// for it.
type record string

// recordOf returns the record of a process, and removes those of processes that have ended.
func recordOf(fs procmem.FS, pid int, started time.Duration) record {
	dir, err := recordDir()
	if err != nil {
		return ""
	}
	r := filepath.Join(dir, fmt.Sprintf("set-%d-%d", pid, started.Milliseconds()))
	others, _ := filepath.Glob(filepath.Join(dir, "set-*-*"))
	for _, other := range others {
		parts := strings.Split(filepath.Base(other), "-")
		n, err := strconv.Atoi(parts[1])
		if err != nil || other == r {
			continue
		}
		if st, err := fs.Stat(n); errors.Is(err, os.ErrNotExist) || err == nil && strconv.FormatInt(st.StartTime.Milliseconds(), 10) != parts[2] {
			_ = os.Remove(other)
		}
	}
	return record(r)
}

// recordDir returns a directory that only this user may write to.
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
		return "", fmt.Errorf("%s: %w", dir, os.ErrPermission)
	}
	return dir, nil
}

// read returns what folio set last, and whether it did.
func (r record) read() (s goruntime.GCSettings, ok bool) {
	data, err := os.ReadFile(string(r))
	if err != nil {
		return s, false
	}
	_, err = fmt.Sscan(string(data), &s.Percent, &s.Limit)
	return s, err == nil
}

// write replaces what it says; the zero value is nothing.
func (r record) write(s goruntime.GCSettings) {
	switch {
	case r == "":
	case s == (goruntime.GCSettings{}):
		_ = os.Remove(string(r))
	default:
		_ = os.WriteFile(string(r), fmt.Appendf(nil, "%d %d\n", s.Percent, s.Limit), 0o600)
	}
}
