package livegc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Which says which processes are meant: one, or the Go programs in a cgroup, or of a name.
type Which struct {
	PID          int
	Cgroup, Name string
}

// OpenAll opens the processes that are meant. After an error those that are open are returned
// too.
func OpenAll(proc procmem.FS, w Which) (all []*Process, err error) {
	if w.PID > 0 {
		p, err := Open(proc, w.PID)
		if err != nil {
			return nil, err
		}
		return []*Process{p}, nil
	}
	var pids []int
	if w.Cgroup != "" {
		pids, err = inCgroup(w.Cgroup)
	} else {
		pids, err = proc.PIDs()
	}
	if err != nil {
		return nil, err
	}
	var denied error
	for _, pid := range pids {
		if w.Name != "" && !named(proc, pid, w.Name) || pid == os.Getpid() {
			continue
		}
		switch p, err := Open(proc, pid); {
		case err == nil:
			all = append(all, p)
		case errors.Is(err, executable.ErrNotGo), errors.Is(err, os.ErrNotExist):
		default:
			denied = errors.Join(denied, err)
		}
	}
	switch {
	case denied != nil:
		return all, denied
	case len(all) == 0 && w.Cgroup != "":
		return nil, fmt.Errorf("no Go program is in the cgroup %s", w.Cgroup)
	case len(all) == 0:
		return nil, fmt.Errorf("no Go program is called %s", w.Name)
	}
	return all, nil
}

// inCgroup lists the processes of a cgroup, and of those below it.
func inCgroup(dir string) (pids []int, err error) {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
		return nil, fmt.Errorf("--cgroup %s: not the directory of a cgroup: no cgroup.procs is in it", dir)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "cgroup.procs" {
			return err
		}
		data, err := os.ReadFile(path)
		for _, word := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return err
	})
	slices.Sort(pids)
	return slices.Compact(pids), err
}

// named says whether a process is called so, by its command line.
func named(proc procmem.FS, pid int, name string) bool {
	command, err := proc.Cmdline(pid)
	return err == nil && len(command) > 0 && filepath.Base(command[0]) == name
}
