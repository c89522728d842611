package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/internal/base/scratch"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/inspect"
	"github.com/foliomem/folio/internal/system/shortage"
)

// An oomSave is a directory of what was saved; whole says that nothing is missing in it.
type oomSave struct {
	dir   string
	whole bool
}

const (
	// mostSaves is how many saves are kept: the last ones, which are nearest to the end.
	mostSaves = 20
	// savePrefix begins the names of saves, and unfinished those of files that are written.
	savePrefix = "oom-"
	unfinished = ".tmp-"
	saveTime   = "20060102T150405.000Z" // their names end with it
)

// sweepSaves removes files that a watcher was writing when it was killed.
func sweepSaves(dir string) {
	saves, _ := filepath.Glob(filepath.Join(escapeGlob(dir), savePrefix+"*-????????T??????.???Z"))
	for _, s := range saves {
		scratch.SweepFiles(s, unfinished)
	}
}

// escapeGlob makes a path a pattern that matches it.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// reasonOf is an error without the path, which is that of a file that nobody asked for.
func reasonOf(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// newSave makes the directory of a save. It is kept from being swept for as long as lock is
// open.
func (o *oomWatch) newSave(at time.Time) (dir string, lock *os.File, err error) {
	name := fmt.Sprintf("%s%d", savePrefix, o.pid)
	if o.pid == 0 {
		name = savePrefix + "cgroup"
		if !o.f.redact {
			name = savePrefix + filepath.Base(o.group)
		}
	}
	dir = filepath.Join(o.f.save, name+"-"+at.UTC().Format(saveTime))
	for range 3 { // another watcher may sweep it as it begins
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", nil, err
		}
		if lock, err = scratch.Keep(dir); err == nil {
			break
		}
	}
	return dir, lock, err
}

// save saves what is in memory: the smallest and most useful first, for the process may be
// killed at any moment.
func (o *oomWatch) save(ctx context.Context, e shortage.Event) error {
	from := time.Now()
	dir, lock, err := o.newSave(e.At)
	if err != nil { // such as a full disk: it may not stay so
		return o.a.stderr.Line("%s: not saved: %v", causeText(e), err)
	}
	if lock != nil {
		defer lock.Close()
	}
	var done, reasons []string
	failed := make(map[string][]string) // by reason
	put := func(name, what string, write func(io.Writer) error) {
		if ctx.Err() != nil {
			return
		}
		some, err := putFile(filepath.Join(dir, name), write)
		switch {
		case err != nil:
			text := reasonOf(err).Error()
			if failed[text] == nil {
				reasons = append(reasons, text)
			}
			failed[text] = append(failed[text], name)
		case some && !slices.Contains(done, what):
			done = append(done, what)
		}
	}
	o.saveAll(ctx, e, put)
	took := unit.Duration(time.Since(from))
	if len(done) == 0 {
		_ = os.Remove(dir) // it is empty
		err = o.a.stderr.Line("%s: nothing was saved in %s", causeText(e), took)
	} else {
		o.saves = append(o.saves, oomSave{dir, len(failed) == 0})
		o.forget()
		err = o.a.stderr.Line("%s: saved %s in %s", causeText(e), strings.Join(done, ", "), took)
	}
	for _, r := range reasons {
		err = errors.Join(err, o.a.stderr.Line("not saved: %s: %s", strings.Join(failed[r], ", "), r))
	}
	if len(done) > 0 {
		err = errors.Join(err, o.a.stdout.Line("%s", dir))
	}
	return err
}

// saveAll puts everything.
func (o *oomWatch) saveAll(ctx context.Context, e shortage.Event, put func(name, what string, write func(io.Writer) error)) {
	put("summary.txt", "summary", func(w io.Writer) error { return o.summary(w, e) })
	dump := func(d dump, p *inspect.Watcher) {
		put(fmt.Sprintf("%d.%s", p.PID(), d.name), d.name, func(w io.Writer) error { return d.write(ctx, p, w) })
	}
	parts := func(p *inspect.Watcher) {
		put(fmt.Sprintf("%d.json", p.PID()), "waterfall", func(w io.Writer) error {
			file, err := o.waterfall(p)
			if err != nil {
				return err
			}
			data, err := file.JSON()
			if err == nil {
				_, err = w.Write(data)
			}
			return err
		})
	}
	for _, p := range o.opened {
		dump(heapDump, p)
	}
	for _, p := range o.opened {
		parts(p)
	}
	if o.pid == 0 { // others may have begun, which takes longer to read
		before := slices.Clone(o.opened)
		_ = o.open()
		for _, p := range o.opened {
			if !slices.Contains(before, p) {
				dump(heapDump, p)
				parts(p)
			}
		}
	}
	for _, p := range o.opened {
		dump(stackDump, p)
	}
}

// forget removes the oldest saves beyond mostSaves. One that is not whole, as on a full disk,
// takes the place of another such: those that are whole stay, and it is one more if all
// others are.
func (o *oomWatch) forget() {
	last := len(o.saves) - 1
	for len(o.saves) > mostSaves {
		i := 0
		if !o.saves[last].whole {
			i = slices.IndexFunc(o.saves, func(s oomSave) bool { return !s.whole })
		}
		if i == last {
			return
		}
		_ = os.RemoveAll(o.saves[i].dir) // or it was taken away
		o.saves = slices.Delete(o.saves, i, i+1)
		last--
	}
}

// putFile writes a file that is there as a whole or not at all. A file of nothing is not
// kept: some is false.
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
	if err := errors.Join(write(f), f.Chmod(0o600)); err != nil {
		return false, errors.Join(err, f.Close())
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil || info.Size() == 0 {
		return false, err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return false, err
	}
	return true, nil
}
