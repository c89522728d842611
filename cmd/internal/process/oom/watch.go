// Package oom saves what processes have in memory before it ends: it waits until a limit is
// nearly reached, and writes their waterfalls, heap profiles and goroutines.
package oom

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/system/shortage"
)

// A dump is what is saved of a process beside its waterfall, in a file PID.name. write
// writes nothing of a process that has none of it.
type dump struct {
	name  string
	write func(context.Context, *inspect.Watcher, io.Writer) error
}

// The heap profile is written before all waterfalls, the stacks of goroutines beside them:
// of 4 GiB and 100,000 goroutines the profile takes a millisecond, the others hundreds.
var (
	heapDump  = dump{"heap.pb.gz", func(ctx context.Context, p *inspect.Watcher, w io.Writer) error { return p.WriteHeap(ctx, w) }}
	stackDump = dump{"goroutines.txt", func(ctx context.Context, p *inspect.Watcher, w io.Writer) error { return p.WriteGoroutines(ctx, w) }}
)

// Options say where to, and how.
type Options struct {
	Save   string // a directory
	Redact bool   // say and write no names of cgroups
	// JSON is what is saved of a process, with what could not be seen of it.
	JSON func(*inspect.Process) (data []byte, notes []string, err error)
	// Charge is what is saved of the cgroup; nil for nothing.
	Charge func(*charge.Charge) ([]byte, error)
	// Stdout is told the directory of each save, Stderr all else.
	Stdout, Stderr *console.Printer
}

// A watcher saves what is in memory before memory ends.
type watcher struct {
	Options
	fs     procmem.FS
	sys    *inspect.System
	watch  *shortage.Watch
	pid    int    // 0: a cgroup is watched
	group  string // its directory
	why    string // what is saved for; "" where memory is short
	opened []*inspect.Watcher
	saves  []kept // those of this watcher that are left
}

// mostOpened is how many processes of a cgroup are saved: the largest.
const mostOpened = 16

// what names what is watched.
func (o *watcher) what() string {
	switch {
	case o.pid != 0:
		return fmt.Sprintf("process %d", o.pid)
	case o.Redact:
		return "the cgroup"
	}
	return "cgroup " + o.group
}

// Run watches a process by its id, or a cgroup by its directory, and saves each time that
// memory is short. It returns nil when the process or the cgroup ends, or ctx.
func Run(ctx context.Context, target string, options Options) (err error) {
	o := &watcher{Options: options, fs: procmem.New(""), sys: inspect.New()}
	if o.pid, err = strconv.Atoi(target); err != nil || o.pid < 1 {
		o.pid = 0
		o.group, err = charge.FindDir(o.fs, target)
		switch {
		case errors.Is(err, charge.ErrNotFound):
			return usage.Errorf("inspect --oom %s: want the id of a process, or the directory of a cgroup (one with cgroup.procs) or its name, such as /sys/fs/cgroup/system.slice", target)
		case err != nil:
			return fmt.Errorf("inspect --oom %s: %w", target, err)
		}
		o.watch, err = shortage.Group(o.fs, o.group)
	} else {
		o.watch, err = shortage.Process(o.fs, o.pid)
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return errors.New("inspect --oom: needs Linux")
	case err != nil && o.pid != 0:
		return inspect.Failed(o.pid, o.fs.Unseen(o.pid, err))
	case err != nil:
		return fmt.Errorf("inspect --oom: %w", err)
	}
	defer func() { err = errors.Join(err, o.watch.Close()) }()
	defer o.close()
	if err := writable(o.Save); err != nil {
		return err
	}
	sweepSaves(o.Save)
	if err := o.open(); err != nil {
		return err
	}
	if err := o.begin(); err != nil {
		return err
	}
	defer goFirst()()
	for {
		e, err := o.wait(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // that is how it ends
		case err != nil:
			return fmt.Errorf("inspect --oom: %w", err)
		case e.Cause == shortage.Ended:
			return o.end(e)
		}
		if err := o.save(ctx, e); err != nil {
			return err
		}
		debug.FreeOSMemory()
	}
}

// refresh is how often it is checked that the processes are those that were opened.
const refresh = time.Minute

// wait waits for memory to be short, and keeps what is open fresh.
func (o *watcher) wait(ctx context.Context) (shortage.Event, error) {
	for {
		some, cancel := context.WithTimeout(ctx, refresh)
		e, err := o.watch.Wait(some)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return e, err
		}
		if o.open() == nil {
			debug.FreeOSMemory()
		}
	}
}

// writable checks that files can be written into a directory, and makes it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	f, err := scratch.Unnamed(dir)
	if err != nil {
		return fmt.Errorf("--save %s: %w", dir, reasonOf(err))
	}
	return f.Close()
}

// mostOfCgroup bounds what is read of a file of a cgroup, which may be any directory.
const mostOfCgroup = 16 << 20

// pids lists the processes that are watched.
func (o *watcher) pids() []int {
	if o.pid != 0 {
		return []int{o.pid}
	}
	rss := make(map[int]uint64)
	var out []int
	all, _ := procmem.CgroupProcesses(o.group) // what may not be read is left out
	for _, pid := range all {
		if m, err := o.fs.Statm(pid); err == nil && pid != os.Getpid() {
			rss[pid] = m.RSS
			out = append(out, pid)
		}
	}
	slices.SortFunc(out, func(a, b int) int { return cmp.Or(cmp.Compare(rss[b], rss[a]), cmp.Compare(a, b)) })
	return out[:min(len(out), mostOpened)]
}

// open opens the processes, those with most memory first. What is open and still the same
// stays so. The error is of the one process that is watched.
func (o *watcher) open() error {
	var all []*inspect.Watcher
	var failed error
	for _, pid := range o.pids() {
		i := slices.IndexFunc(o.opened, func(p *inspect.Watcher) bool { return p.PID() == pid })
		if i >= 0 && o.opened[i].Current() {
			all = append(all, o.opened[i])
			o.opened = slices.Delete(o.opened, i, i+1)
			continue
		}
		p := o.sys.Watch(pid, inspect.Options{Once: true})
		if _, err := p.Look(); err != nil {
			p.Close()
			failed = inspect.Failed(pid, err)
			continue
		}
		all = append(all, p)
	}
	o.close()
	o.opened = all
	if o.pid != 0 && len(all) == 0 {
		return failed
	}
	return nil
}

func (o *watcher) close() {
	for _, p := range o.opened {
		p.Close()
	}
	o.opened = nil
}

// begin reads everything once, so that nothing is done for the first time when there is no
// time left, and says what is watched.
func (o *watcher) begin() error {
	from := time.Now()
	var unread []string // why, of each process
	all := make(map[int]*inspect.Process)
	for _, p := range o.opened {
		seen, err := o.waterfall(p)
		if errors.Is(err, procmem.ErrNoProcess) && o.pid != 0 {
			return err
		}
		if err != nil {
			continue
		}
		all[p.PID()] = seen
		_, notes, err := o.JSON(seen)
		if err != nil {
			return err
		}
		if len(notes) > 0 && !partsKnown(seen) {
			unread = append(unread, fmt.Sprintf("process %d: %s", p.PID(), notes[len(notes)-1]))
		}
		for _, d := range []dump{heapDump, stackDump} {
			_ = d.write(context.Background(), p, io.Discard)
		}
	}
	limits := o.watch.Limits()
	if len(limits) > 0 {
		o.putCharge(shortage.Event{Group: limits[0].Group}, all, func(_, _ string, write func(io.Writer) error) { _ = write(io.Discard) })
	}
	took := time.Since(from)
	debug.FreeOSMemory()
	var lines []string
	for _, l := range limits {
		switch {
		case l.Group == "":
			lines = append(lines, fmt.Sprintf("%s has no memory limit: watching the machine, which has %s; saves when less than %s is available",
				o.what(), unit.Size(l.Bytes), unit.Size(l.Bytes-l.At)))
		default:
			of := " of " + l.Group
			if o.Redact {
				of = ""
			}
			lines = append(lines, fmt.Sprintf("%s: watching the limit of %s%s; saves when %s are in use besides the file cache",
				o.what(), unit.Size(l.Bytes), of, unit.Size(l.At)))
		}
	}
	if o.inside(limits) {
		lines = append(lines, "this watcher is in the same cgroup: start it outside, else the OOM killer can end it, too")
	}
	switch n := len(unread); {
	case n > 0 && o.pid != 0:
		lines = append(lines, unread[0]+": the save has less")
	case n > 0:
		lines = append(lines, fmt.Sprintf("%d of %s cannot be read as a whole: %s", n, unit.Plural(len(o.opened), "process"), unread[0]))
	}
	own, _ := o.fs.Statm(0)
	lines = append(lines, fmt.Sprintf("a save takes %s now; this watcher takes %s of memory, %s of it its program's file",
		unit.Duration(took), unit.Size(own.RSS), unit.Size(own.Shared)))
	for _, l := range lines {
		if err := o.Stderr.Line("%s", l); err != nil {
			return err
		}
	}
	return nil
}

// partsKnown reports whether nothing is missing in what is saved of a process. Other notes
// are about what is not saved.
func partsKnown(p *inspect.Process) bool {
	w := p.Waterfall
	return w != nil && (w.GC != nil || p.IsGo == nil || !*p.IsGo)
}

// inside reports whether this process is in one of the cgroups that are watched.
func (o *watcher) inside(limits []shortage.Limit) bool {
	groups, err := o.fs.MemoryGroups(0)
	if err != nil {
		return false
	}
	for _, g := range groups {
		if slices.ContainsFunc(limits, func(l shortage.Limit) bool { return l.Group == o.fs.GroupDir(g) }) {
			return true
		}
	}
	return false
}

// waterfall reads a process, without what is of the first look.
func (o *watcher) waterfall(p *inspect.Watcher) (*inspect.Process, error) {
	seen, err := p.Read()
	if err != nil {
		return nil, inspect.Failed(p.PID(), err)
	}
	now := *seen
	now.Anonymous, now.AnonymousHuge, now.Memory, now.Windows, now.Bloat, now.Faults, now.Hazards = nil, nil, nil, nil, nil, nil, nil
	return &now, nil
}

// cause says why something is saved.
func (o *watcher) cause(e shortage.Event) string {
	if o.why != "" {
		return o.why
	}
	of := "the limit of "
	switch {
	case e.Group == "":
		of = "the machine's "
	case e.High:
		of = "memory.high, "
	}
	of += unit.Size(e.Limit)
	use := fmt.Sprintf("%s in use, %s of %s", unit.Size(e.Use), unit.Percent(e.Share()), of)
	if e.Cause == shortage.Stall {
		return "tasks wait for memory; " + use
	}
	return use
}

// summary writes what can be read in microseconds.
func (o *watcher) summary(w io.Writer, e shortage.Event) error {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s", o.cause(e))
	line("time: %s", e.At.UTC().Format(time.RFC3339Nano))
	if e.Group != "" && !o.Redact {
		line("cgroup: %s", console.Line(e.Group))
	}
	if text := o.charged(e.Group); text != "" {
		line("%s", text)
	}
	if e.Limit > 0 {
		line("use: %d bytes; with file cache of %d: %d; limit: %d", e.Use, e.Cache, e.Usage, e.Limit)
	}
	for _, p := range o.opened {
		rss, stats, err := p.Quick()
		if err != nil {
			continue
		}
		line("process %d: RSS %s%s", p.PID(), unit.Size(rss), o.kinds(p.PID()))
		if s := stats; s != nil {
			line("  Go: live heap %s, all objects %s, free in spans %s, free pages %s, stacks %s, metadata %s; %d GC cycles; GOGC %d; GOMEMLIMIT %d",
				unit.Size(s.Live), unit.Size(s.Objects), unit.Size(s.Unused), unit.Size(s.Free), unit.Size(s.Stacks), unit.Size(s.Metadata),
				s.Cycles, s.Percent, s.MemoryLimit)
		}
	}
	if e.Group != "" {
		for _, name := range []string{"memory.pressure", "memory.stat"} {
			if data, err := input.ReadFile(filepath.Join(e.Group, name), mostOfCgroup); err == nil {
				text := console.Escape(string(bytes.TrimSpace(data))) // of a directory that may be anybody's
				line("\n%s\n  %s", name, strings.ReplaceAll(text, "\n", "\n  "))
			}
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// kinds says what the RSS of a process is, as the kernel counts it without looking at pages.
func (o *watcher) kinds(pid int) string {
	status, err := o.fs.Status(pid)
	if err != nil {
		return ""
	}
	var all []string
	for _, k := range []struct {
		name  string
		bytes *uint64
	}{{"anonymous", status.RssAnon}, {"files", status.RssFile}, {"shared memory", status.RssShmem}, {"page tables besides", status.VmPTE}, {"swapped", status.VmSwap}} {
		if k.bytes != nil {
			all = append(all, k.name+" "+unit.Size(*k.bytes))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "; " + strings.Join(all, ", ")
}

// end says how it ended.
func (o *watcher) end(e shortage.Event) error {
	how := " has ended"
	if o.pid == 0 {
		how = " is gone"
	}
	if e.Killed {
		how += "; an OOM killer ended a process of its cgroup"
	}
	saved := "nothing was saved"
	if n := len(o.saves); n > 0 {
		saved = fmt.Sprintf("%s in %s", unit.Plural(n, "save"), o.Save)
	}
	return o.Stderr.Line("%s%s; %s", o.what(), how, saved)
}
