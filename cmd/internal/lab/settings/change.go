// Package settings changes settings of the whole system and puts them back, whatever
// ends the program.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Change is one thing of the whole system: a value in a
// file of the kernel, or a directory (a memory cgroup).
type Change struct {
	Path  string // absolute
	Value string // what the file is to hold
	// Dir makes a directory at Path instead, with Value in its file Limit.
	Dir   bool
	Limit string
	// Pool says that the file is the size of a pool of huge pages: the kernel
	// may give fewer than asked for.
	Pool bool
}

// String says what is done, for the user to read before it is done.
func (c Change) String() string {
	if c.Dir {
		return fmt.Sprintf("make the cgroup %s with %s = %s", c.Path, c.Limit, c.Value)
	}
	now, err := Read(c.Path)
	if err != nil {
		now = "unreadable"
	}
	return fmt.Sprintf("write %s to %s (now %s)", c.Value, c.Path, now)
}

// Permitted returns an error if this process may not make the change, without making it.
func (c Change) Permitted() error {
	path := c.Path
	if c.Dir {
		path = filepath.Dir(path)
	}
	if err := mayWrite(path); err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// An undo takes a change back.
type undo struct {
	Path  string
	Value string
	Dir   bool
}

// Undo takes the change back.
func (u undo) Undo() error {
	if !u.Dir {
		return writeSetting(u.Path, u.Value)
	}
	// The processes of a cgroup leave it a moment after they were reaped.
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		err := syscall.Rmdir(u.Path)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return &fs.PathError{Op: "rmdir", Path: u.Path, Err: err}
		}
	}
}

// undo returns how to take the change back, as things are now.
func (c Change) undo() (undo, error) {
	if c.Dir {
		if _, err := os.Stat(c.Path); err == nil {
			return undo{}, fmt.Errorf("make the cgroup %s: it is there already: remove it", c.Path)
		}
		return undo{Path: c.Path, Dir: true}, nil
	}
	now, err := Read(c.Path)
	return undo{Path: c.Path, Value: now}, err
}

// apply makes the change, and checks that it was taken.
func (c Change) apply() error {
	if c.Dir {
		if err := os.Mkdir(c.Path, 0o755); err != nil {
			return err
		}
		return writeSetting(filepath.Join(c.Path, c.Limit), c.Value)
	}
	if err := writeSetting(c.Path, c.Value); err != nil {
		return err
	}
	got, err := Read(c.Path)
	switch {
	case err != nil:
		return err
	case got == c.Value:
		return nil
	case c.Pool:
		have, _ := strconv.ParseUint(got, 10, 64)
		want, _ := strconv.ParseUint(c.Value, 10, 64)
		if have >= want {
			return nil
		}
		return fmt.Errorf("grow the pool %s to %s pages: the kernel found memory for %s only, the rest is in use or in pieces: try after a reboot, or a smaller --size", c.Path, c.Value, got)
	}
	return fmt.Errorf("write %s to %s: it holds %s afterwards", c.Value, c.Path, got)
}

// Read returns what a file of the kernel is set to: its text, or of a
// list such as "always [madvise] never" the chosen word.
func Read(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return chosen(string(data)), nil
}

// chosen returns the word in brackets, or the text if there is none.
func chosen(text string) string {
	text = strings.TrimSpace(text)
	for word := range strings.FieldsSeq(text) {
		if len(word) > 2 && word[0] == '[' && word[len(word)-1] == ']' {
			return word[1 : len(word)-1]
		}
	}
	return text
}

// writeSetting writes a file that is there: it never makes one.
func writeSetting(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: needs root", err)
		}
		return err
	}
	_, err = f.WriteString(value)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
