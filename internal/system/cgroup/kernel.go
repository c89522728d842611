package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/foliomem/folio/internal/base/input"
)

// A kernel carries out changes. Tests have one that does with plain files what the real
// one does with its own.
type kernel interface {
	mkdir(dir string) error
	rmdir(dir string) error
	write(file, text string) error
	kill(pid int) error
}

// linux is the real kernel.
type linux struct{}

func (linux) mkdir(dir string) error { return os.Mkdir(dir, 0o755) }

func (linux) rmdir(dir string) error {
	if err := syscall.Rmdir(dir); err != nil {
		return &os.PathError{Op: "rmdir", Path: dir, Err: err}
	}
	return nil
}

// write writes in one call, without O_CREATE: a file that is not there must not be made.
func (linux) write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func (linux) kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }()
	return p.Kill()
}

// read returns the text of a file of a cgroup.
func read(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := input.ReadAll(f, file, input.MaxProc)
	return strings.TrimSpace(string(data)), err
}

// words returns the words of a file of a cgroup; none if it cannot be read.
func words(file string) []string {
	text, err := read(file)
	if err != nil {
		return nil
	}
	return strings.Fields(text)
}

// processes lists the processes in a cgroup, without those below it. A process of another
// PID namespace is 0.
func processes(dir string) ([]int, error) {
	text, err := read(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var out []int
	for _, w := range strings.Fields(text) {
		if pid, err := strconv.Atoi(w); err == nil {
			out = append(out, pid)
		}
	}
	return out, nil
}

// gone says that a file or directory is not there, or no more.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) }
