package livegc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Which selects processes: one, or the Go programs of a cgroup, named as for [charge.Find], or
// those with a name.
type Which struct {
	PID          int
	Cgroup, Name string
}

// OpenAll opens the selected processes. It also returns those it opened before an error.
func OpenAll(proc procmem.FS, w Which) (all []*Process, err error) {
	if w.PID > 0 {
		p, err := Open(proc, w.PID)
		if err != nil {
			return nil, err
		}
		return []*Process{p}, nil
	}
	var pids []int
	dir := ""
	if w.Cgroup != "" {
		dir, pids, err = inCgroup(proc, w.Cgroup)
	} else {
		pids, err = proc.PIDs()
	}
	if err != nil {
		return nil, fmt.Errorf("set: %w", err)
	}
	var denied error
	for _, pid := range pids {
		if w.Name != "" && !named(proc, pid, w.Name) || pid == os.Getpid() {
			continue
		}
		switch p, err := Open(proc, pid); {
		case err == nil:
			all = append(all, p)
		case errors.Is(err, executable.ErrNotGo), errors.Is(err, procmem.ErrKernelThread), errors.Is(err, procmem.ErrNoProcess), procmem.Gone(err):
		default:
			denied = errors.Join(denied, err)
		}
	}
	switch {
	case denied != nil:
		return all, denied
	case len(all) == 0 && w.Cgroup != "":
		return nil, fmt.Errorf("set: no Go program in the cgroup %s", dir)
	case len(all) == 0:
		return nil, fmt.Errorf("set: no Go program named %s", w.Name)
	}
	return all, nil
}

// inCgroup lists the processes of a cgroup and of its descendants.
func inCgroup(proc procmem.FS, name string) (dir string, pids []int, err error) {
	if dir, err = charge.Directory(proc, name); err != nil {
		return "", nil, fmt.Errorf("--cgroup %s: %w", name, err)
	}
	pids, err = procmem.CgroupProcesses(dir)
	return dir, pids, err
}

// named reports whether a process has this name: its comm, which inspect and ps show, or the
// command that started it.
func named(proc procmem.FS, pid int, name string) bool {
	if st, err := proc.Stat(pid); err == nil && st.Comm == name {
		return true
	}
	command, err := proc.Cmdline(pid)
	return err == nil && len(command) > 0 && filepath.Base(command[0]) == name
}
