package diagnose

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/system/procmem"
)

// ReadOptions say what facts are read. Nil and zero fields are the defaults.
type ReadOptions struct {
	PID int // 0: only the host, and the container that folio is in

	// Watch is the time between the two looks at what counts up. 0: one look
	// only; the rules that need two say so.
	Watch time.Duration

	// For tests: what is not in the files below the root.
	wait     func(context.Context, time.Duration) error
	version  func(pid int) (string, error)
	notGo    func(pid int) error             // of a program without a version: what it is
	trace    func() error                    // as trial.MayTrace
	collapse func(pid int, isGo bool) string // as inspect.CollapseCommand
	open     func(pid int, version string) (goruntime.StateReader, error)
	pending  func(pid int) (PendingReader, error)
	sample   func(ctx context.Context, pid int, d time.Duration) (Samples, error)
	memory   func(f procmem.FS, pid int) (Memory, error)
	others   func(f procmem.FS, g procmem.MemoryGroup, pid int) []memlimit.Runtime
	charge   func(f procmem.FS, pid int) (*charge.Charge, error)
}

func (o *ReadOptions) withDefaults(f procmem.FS) ReadOptions {
	var out ReadOptions
	if o != nil {
		out = *o
	}
	if out.wait == nil {
		out.wait = inspect.Wait
	}
	if out.version == nil {
		out.version = func(pid int) (string, error) { return goVersion(f.ExePath(pid)) }
	}
	if out.notGo == nil {
		out.notGo = func(pid int) error { return goruntime.NotGo(f, pid) }
	}
	if out.collapse == nil {
		out.collapse = inspect.CollapseCommand
	}
	if out.trace == nil {
		out.trace = trial.MayTrace
	}
	if out.open == nil {
		out.open = func(pid int, version string) (goruntime.StateReader, error) {
			return goruntime.OpenState(f, pid, version)
		}
	}
	if out.pending == nil {
		out.pending = func(pid int) (PendingReader, error) { return goruntime.Attach(f, pid) }
	}
	if out.sample == nil {
		out.sample = func(ctx context.Context, pid int, d time.Duration) (Samples, error) { return sample(ctx, f, pid, d) }
	}
	if out.memory == nil {
		out.memory = readMemory
	}
	if out.others == nil {
		out.others = memlimit.Others
	}
	if out.charge == nil {
		out.charge = readCharge
	}
	return out
}

// ReadFacts reads the facts from the files below f. What cannot be read is kept
// as such in its fact. The error is for a process that cannot be looked at at
// all, and for a system without these files.
func ReadFacts(ctx context.Context, f procmem.FS, opts *ReadOptions) (*Facts, error) {
	o := opts.withDefaults(f)
	out := &Facts{PageBytes: f.PageSize()}
	var id identity
	if o.PID != 0 {
		var err error
		if id, err = identify(f, o.PID); err != nil {
			return nil, err
		}
		out.Process = &Process{PID: o.PID, Comm: id.comm, Denied: f.Denied(o.PID)}
	}
	out.readHost(f)
	if runtime.GOOS != "linux" && errors.Is(out.Vmstat.Err, fs.ErrNotExist) {
		return nil, fmt.Errorf("doctor: %s has no /proc and /sys: it reads what Linux says: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	out.readGroups(f, o.PID)
	if out.Process != nil {
		out.Process.read(f, o)
	}
	if err := out.watch(ctx, f, o); err != nil {
		return nil, err
	}
	if p := out.Process; p != nil {
		// These walk the page tables: what they cost the process is not to be
		// taken for what it does.
		p.Rollup = fact(f.SmapsRollup(p.PID))
		p.Advice = newAdvice(f.Mappings(p.PID))
		p.Memory = fact(o.memory(f, p.PID))
		p.Charge = fact(o.charge(f, p.PID))
		if l, ok, err := out.limit(); err == nil && ok && p.isGo() {
			out.Others = o.others(f, l.Group, p.PID)
		}
		if now, err := identify(f, p.PID); err != nil || now.start != id.start {
			return nil, fmt.Errorf("doctor %d: the process ended while it was looked at", p.PID)
		}
	}
	return out, nil
}

func (out *Facts) readHost(f procmem.FS) {
	out.Release = fact(f.Release())
	out.THP = fact(f.THP())
	out.Meminfo = fact(f.Meminfo())
	out.Pools = fact(f.HugetlbPools())
	out.Free = fact(f.FreeBlocks())
	out.Swappiness = fact(f.Sysctl("vm/swappiness"))
	v, err := f.Vmstat()
	out.Vmstat = fact(BeforeAfter[procmem.Vmstat]{v, v}, err)
}

func (out *Facts) readGroups(f procmem.FS, pid int) {
	groups, err := f.MemoryGroups(pid)
	var all []Group
	for _, g := range groups {
		m, rerr := g.Read()
		err = errors.Join(err, rerr)
		all = append(all, Group{f.GroupDir(g), m, g})
	}
	out.Groups = fact(all, err)
}

// read reads what one look shows.
func (p *Process) read(f procmem.FS, o ReadOptions) {
	p.Command, _ = f.Cmdline(p.PID) // for the heading only
	p.Status = fact(f.Status(p.PID))
	p.MaxMaps = fact(f.Sysctl("vm/max_map_count"))
	p.Environ = fact(f.Environ(p.PID))
	p.Children = fact(children(f, p.PID, p.Comm))
	p.GoVersion = fact(o.version(p.PID))
	if p.GoVersion.Err == nil && p.GoVersion.Value == "" {
		p.NotGo = notGo(o.notGo(p.PID))
	}
	p.Collapse = o.collapse(p.PID, p.isGo())
	if p.isGo() {
		p.NoTrace = o.trace()
	}
}

// smallHeap is how much memory a process may have for its time to be sampled,
// where its runtime does not say how often it collects: a tiny heap is in a
// small process.
const smallHeap = 4 * tinyHeap

// watch takes both looks at what counts up.
func (out *Facts) watch(ctx context.Context, f procmem.FS, o ReadOptions) error {
	pressure := func() (procmem.Pressure, error) {
		p, ok, err := f.MemoryPressure(o.PID)
		if err == nil && !ok {
			err = errors.New("the kernel keeps no memory pressure (CONFIG_PSI, or psi=1 on its command line)")
		}
		return p, err
	}
	pBefore, pErr := pressure()
	out.Pressure = fact(BeforeAfter[procmem.Pressure]{pBefore, pBefore}, pErr)
	p := out.Process
	var reader goruntime.StateReader
	if p != nil {
		reader = p.openRuntime(o)
		if reader != nil {
			defer reader.Close() // of this one, also when it is given up
		}
		p.Samples.Err = errors.New("not sampled")
		defer p.readPending(o)()
	}
	if o.Watch <= 0 {
		return nil
	}
	begin := time.Now()
	if p.wantsSamples() {
		p.Samples = fact(o.sample(ctx, p.PID, o.Watch))
	}
	const looks = 25 // at a runtime, which costs some microseconds each
	for range looks {
		if err := o.wait(ctx, min(o.Watch/looks, o.Watch-time.Since(begin))); err != nil {
			return err
		}
		if reader == nil {
			continue
		}
		s, err := reader.Read()
		if err != nil {
			p.Runtime.Err, reader = err, nil
			continue
		}
		p.Runtime.Value.see(s)
	}
	if out.Vmstat.Err == nil {
		out.Vmstat.Value.After, out.Vmstat.Err = f.Vmstat()
	}
	if out.Pressure.Err == nil {
		out.Pressure.Value.After, out.Pressure.Err = pressure()
	}
	out.Watched = max(time.Since(begin), o.Watch)
	return nil
}

// openRuntime takes the first look at a Go program's runtime. It returns nil
// when the runtime cannot be read.
func (p *Process) openRuntime(o ReadOptions) goruntime.StateReader {
	version := p.GoVersion.Value
	switch {
	case p.GoVersion.Err != nil:
		p.Runtime.Err = p.GoVersion.Err
		return nil
	case version == "":
		p.Runtime.Err = errors.New(p.NotGo)
		return nil
	}
	r, err := o.open(p.PID, version)
	if err != nil {
		p.Runtime.Err = err
		return nil
	}
	s, err := r.Read()
	if err != nil {
		r.Close()
		p.Runtime.Err = err
		return nil
	}
	p.Runtime.Value.Before = s
	p.Runtime.Value.see(s)
	return r
}

// readPending reads what waits for finalizers, and again when the returned function is called.
func (p *Process) readPending(o ReadOptions) func() {
	if p.Runtime.Err != nil {
		p.Pending.Err = p.Runtime.Err
		return func() {}
	}
	r, err := o.pending(p.PID)
	if err != nil {
		p.Pending.Err = err
		return func() {}
	}
	n, err := r.Pending()
	p.Pending = fact(BeforeAfter[goruntime.Pending]{n, n}, err)
	return func() {
		defer r.Close()
		if p.Pending.Err == nil {
			p.Pending.Value.After, p.Pending.Err = r.Pending()
		}
	}
}

// wantsSamples says that only samples can tell whether a Go program collects a
// tiny heap all the time.
func (p *Process) wantsSamples() bool {
	if p == nil || p.GoVersion.Value == "" || p.Runtime.Err == nil {
		return false
	}
	anon := p.Status.Value.RssAnon
	return anon != nil && *anon <= smallHeap
}

type identity struct {
	comm  string
	start time.Duration
}

// identify finds a process that can be looked at.
func identify(f procmem.FS, pid int) (identity, error) {
	st, err := f.Find(pid)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return identity{}, fmt.Errorf("doctor %d: may not be looked at: %s", pid, f.Denied(pid))
	case err != nil:
		return identity{}, fmt.Errorf("doctor %d: %w", pid, err)
	case st.Zombie():
		return identity{}, fmt.Errorf("doctor %d: the process has ended, and waits for its parent to notice", pid)
	}
	s, err := f.Status(pid)
	switch {
	case err != nil:
		err = f.Unseen(pid, err)
		return identity{}, fmt.Errorf("doctor %d: %w", pid, err)
	case s.TGID != nil && s.PID != nil && *s.TGID != *s.PID:
		return identity{}, fmt.Errorf("doctor %d: is a thread: folio doctor %d looks at its process", pid, *s.TGID)
	case s.VmRSS == nil:
		return identity{}, noMemory(f, pid, st.Comm)
	}
	return identity{st.Comm, st.StartTime}, nil
}

// noMemory says why there is nothing to look at.
func noMemory(f procmem.FS, pid int, comm string) error {
	err := f.NoMemory(pid)
	if errors.Is(err, procmem.ErrKernelThread) {
		return fmt.Errorf("doctor %d: is a thread of the kernel (%s), which has no memory of its own", pid, comm)
	}
	return fmt.Errorf("doctor %d: %w", pid, f.Unseen(pid, err))
}

// children returns the child processes that go by the same name: a program that
// forks to do work in a copy of itself has them.
func children(f procmem.FS, pid int, comm string) (out []int, err error) {
	all, err := f.Descendants(pid)
	for _, child := range all {
		if st, err := f.Stat(child); err == nil && st.PPID == pid && st.Comm == comm && !st.Zombie() {
			out = append(out, child)
		}
	}
	return out, err
}

// goVersion returns the version of Go that built a program, "" if it is not Go.
func goVersion(exe string) (string, error) {
	build, err := goruntime.ReadBuild(exe)
	if errors.Is(err, executable.ErrNotGo) {
		return "", nil
	}
	return build.GoVersion, err
}

// notGo says what a program is that has no version of Go.
func notGo(err error) string {
	if err == nil || errors.Unwrap(err) == executable.ErrNotGo {
		return "not a Go program"
	}
	return err.Error()
}

// sample samples a process and its children.
func sample(ctx context.Context, f procmem.FS, pid int, d time.Duration) (Samples, error) {
	const often = 997 // a second, as folio run
	s, err := trial.Attach(ctx, f, pid, often, d, trial.Keep{})
	if err != nil {
		if why, ok := errors.AsType[*perf.Error](err); ok {
			return Samples{}, why
		}
		return Samples{}, err
	}
	return Samples{CPU: s.CPU, Result: s.Profile}, nil
}
