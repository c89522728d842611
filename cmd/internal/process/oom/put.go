package oom

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/base/unit"
)

const (
	// cutOff ends the names of files that are not whole.
	cutOff = ".cut"
	// listName is the file that lists a save: it is written last.
	listName = "saved.txt"
)

// savedFiles are what is in a save, and what is not.
type savedFiles struct {
	ctx context.Context
	dir string
	at  time.Time

	mu      sync.Mutex
	done    []savedFile
	failed  map[string][]string // names, by reason
	reasons []string            // in their order
}

type savedFile struct {
	name, what string
	after      time.Duration
}

// put saves a file, unless the watcher is to end.
func (c *savedFiles) put(name, what string, write func(io.Writer) error) {
	if c.ctx.Err() != nil {
		return
	}
	some, err := putFile(filepath.Join(c.dir, name), write)
	after := time.Since(c.at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		text := reasonOf(err).Error()
		if c.failed[text] == nil {
			c.reasons = append(c.reasons, text)
		}
		c.failed[text] = append(c.failed[text], name)
	} else if some {
		c.done = append(c.done, savedFile{name, what, after})
	}
}

// whats says what was saved, in the order in which it was first there.
func (c *savedFiles) whats() (out []string) {
	for _, f := range c.done {
		if !slices.Contains(out, f.what) {
			out = append(out, f.what)
		}
	}
	return out
}

// list writes what is in the save. Without it the watcher was killed before it had saved all.
func (c *savedFiles) list() {
	var b bytes.Buffer
	fmt.Fprintln(&b, "whole, and how long after the cause was seen:")
	for _, f := range c.done {
		fmt.Fprintf(&b, "  %s  %s\n", f.name, unit.Duration(f.after))
	}
	if len(c.reasons) > 0 {
		fmt.Fprintln(&b, "\nnot whole, or not there:")
	}
	for _, r := range c.reasons {
		fmt.Fprintf(&b, "  %s: %s\n", strings.Join(c.failed[r], ", "), r)
	}
	n := len(c.done)
	c.put(listName, "list", func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err })
	c.done = c.done[:n] // it is not part of what is saved
}

// putFile writes a file that is there as a whole or not at all. A file of nothing is not
// kept: some is false. One that was cut off ([inspect.ErrCut]) is kept with a name that says
// so, and is an error.
func putFile(path string, write func(io.Writer) error) (some bool, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), unfinished+"*")
	if err != nil {
		return false, err
	}
	defer func() {
		if !some {
			os.Remove(f.Name())
		}
	}()
	cut := errors.Join(write(f), f.Chmod(0o600))
	if cut != nil && !errors.Is(cut, inspect.ErrCut) {
		return false, errors.Join(cut, f.Close())
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil || info.Size() == 0 {
		return false, errors.Join(cut, err)
	}
	if cut != nil {
		ext := filepath.Ext(path)
		path = strings.TrimSuffix(path, ext) + cutOff + ext
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return false, errors.Join(cut, err)
	}
	return true, cut
}
