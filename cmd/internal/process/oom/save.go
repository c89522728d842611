package oom

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
	"sync"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/shortage"
)

// A kept is a directory of what was saved; whole says that nothing is missing in it.
type kept struct {
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
func (o *watcher) newSave(at time.Time) (dir string, lock *os.File, err error) {
	name := fmt.Sprintf("%s%d", savePrefix, o.pid)
	if o.pid == 0 {
		name = savePrefix + "cgroup"
		if !o.Redact {
			name = savePrefix + filepath.Base(o.group)
		}
	}
	dir = filepath.Join(o.Save, name+"-"+at.UTC().Format(saveTime))
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
func (o *watcher) save(ctx context.Context, e shortage.Event) error {
	from := time.Now()
	dir, lock, err := o.newSave(e.At)
	if err != nil { // such as a full disk: it may not stay so
		return o.Stderr.Line("%s: not saved: %v", o.cause(e), err)
	}
	if lock != nil {
		defer lock.Close()
	}
	saved := &savedFiles{ctx: ctx, dir: dir, at: e.At, failed: make(map[string][]string)}
	o.saveAll(ctx, e, saved.put)
	took := unit.Duration(time.Since(from))
	if len(saved.done) == 0 {
		_ = os.Remove(dir) // it is empty
		err = o.Stderr.Line("%s: nothing was saved in %s", o.cause(e), took)
	} else {
		saved.list()
		o.saves = append(o.saves, kept{dir, len(saved.reasons) == 0})
		o.forget()
		err = o.Stderr.Line("%s: saved %s in %s", o.cause(e), strings.Join(saved.whats(), ", "), took)
	}
	for _, r := range saved.reasons {
		err = errors.Join(err, o.Stderr.Line("not saved: %s: %s", strings.Join(saved.failed[r], ", "), r))
	}
	if len(saved.done) > 0 {
		err = errors.Join(err, o.Stdout.Line("%s", dir))
	}
	return err
}

// A putter saves a file of a save, and remembers what it is.
type putter func(name, what string, write func(io.Writer) error)

// saveAll puts everything.
func (o *watcher) saveAll(ctx context.Context, e shortage.Event, put putter) {
	put("summary.txt", "summary", func(w io.Writer) error { return o.summary(w, e) })
	seen := make(map[int]*inspect.Process)
	o.saveOf(ctx, o.opened, seen, put)
	if o.pid == 0 {
		before := slices.Clone(o.opened) // others may have begun, which takes longer to read
		_ = o.open()
		o.saveOf(ctx, slices.DeleteFunc(slices.Clone(o.opened), func(p *inspect.Watcher) bool { return slices.Contains(before, p) }), seen, put)
	}
	o.putCharge(e, seen, put)
}

// saveOf puts what is saved of these processes: what is fast first, and what takes long side
// by side, and keeps what was seen. put is called by two goroutines.
func (o *watcher) saveOf(ctx context.Context, all []*inspect.Watcher, of map[int]*inspect.Process, put putter) {
	dump := func(d dump, p *inspect.Watcher) {
		put(fmt.Sprintf("%d.%s", p.PID(), d.name), d.name, func(w io.Writer) error { return d.write(ctx, p, w) })
	}
	var beside []*inspect.Watcher
	for _, p := range all {
		dump(heapDump, p)
		beside = append(beside, p.Beside())
	}
	var stacks sync.WaitGroup
	defer stacks.Wait()
	stacks.Go(func() {
		defer goNext()()
		for _, p := range beside {
			dump(stackDump, p)
		}
	})
	for _, p := range all {
		put(fmt.Sprintf("%d.json", p.PID()), "waterfall", func(w io.Writer) error {
			seen, err := o.waterfall(p)
			if err != nil {
				return err
			}
			of[p.PID()] = seen
			data, _, err := o.JSON(seen)
			if err == nil {
				_, err = w.Write(data)
			}
			return err
		})
	}
}

// forget removes the oldest saves beyond mostSaves. One that is not whole, as on a full disk,
// takes the place of another such: those that are whole stay, and it is one more if all
// others are.
func (o *watcher) forget() {
	last := len(o.saves) - 1
	for len(o.saves) > mostSaves {
		i := 0
		if !o.saves[last].whole {
			i = slices.IndexFunc(o.saves, func(s kept) bool { return !s.whole })
		}
		if i == last {
			return
		}
		_ = os.RemoveAll(o.saves[i].dir) // or it was taken away
		o.saves = slices.Delete(o.saves, i, i+1)
		last--
	}
}
