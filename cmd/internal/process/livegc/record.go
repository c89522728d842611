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
	own := record(filepath.Join(dir, fmt.Sprintf("set-%d-%d", pid, started.Milliseconds())))
	for _, r := range records() {
		if r == own {
			continue
		}
		other, begin := r.process()
		if st, err := fs.Stat(other); errors.Is(err, os.ErrNotExist) || err == nil && startOf(st) != begin {
			_ = os.Remove(string(r))
		}
	}
	return own
}

// records returns all records of this user.
func records() (all []record) {
	dir, err := recordDir()
	if err != nil {
		return nil
	}
	names, _ := filepath.Glob(filepath.Join(dir, "set-*-*"))
	for _, name := range names {
		if pid, _ := record(name).process(); pid > 0 {
			all = append(all, record(name))
		}
	}
	return all
}

// process returns whose record it is: its number and when it began; 0 for none.
func (r record) process() (pid int, started string) {
	parts := strings.Split(filepath.Base(string(r)), "-")
	if len(parts) != 3 {
		return 0, ""
	}
	pid, _ = strconv.Atoi(parts[1])
	return pid, parts[2]
}

// startOf is when a process began, as the names of records have it.
func startOf(st procmem.Stat) string { return strconv.FormatInt(st.StartTime.Milliseconds(), 10) }

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

// An entry is what a record says: what folio set last and, of a change for a while, what was in
// effect before.
type entry struct{ Set, Before goruntime.GCSettings }

// read returns what it says, and whether it says anything.
func (r record) read() (e entry, ok bool) {
	data, err := os.ReadFile(string(r))
	if err != nil {
		return e, false
	}
	n, _ := fmt.Sscan(string(data), &e.Set.Percent, &e.Set.Limit, &e.Before.Percent, &e.Before.Limit)
	return e, n == 4
}

// write replaces what it says; the zero value is nothing.
func (r record) write(e entry) {
	switch {
	case r == "":
	case e == (entry{}):
		_ = os.Remove(string(r))
	default: // whatever ends this process, it says one or the other
		dir, name := filepath.Split(string(r))
		if os.WriteFile(dir+"new-"+name, fmt.Appendf(nil, "%d %d %d %d\n", e.Set.Percent, e.Set.Limit, e.Before.Percent, e.Before.Limit), 0o600) == nil {
			_ = os.Rename(dir+"new-"+name, string(r))
		}
	}
}
