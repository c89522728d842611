package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/cmd/internal/program/gosetting"
	"github.com/foliomem/folio/cmd/internal/program/launch"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/cgroup"
)

// oneTrial keeps trials apart: see Program.
var oneTrial sync.Mutex

// graces for the ways in which a trial ends early.
const (
	graceLeftover = time.Second     // processes that the program left behind
	graceStop     = 2 * time.Second // the search was interrupted
	graceSignal   = 10 * time.Second
)

// A running trial.
type running struct {
	p         *Program
	req       Request
	family    *family
	oomKills  uint64 // when it began
	pid       int
	files     files
	sampler   *sampler
	witness   *witness
	series    *Series       // nil: not asked for
	observer  *observer     // of a server under load; nil: not asked for
	kept      *load.Kept    // requests of that load
	follower  *follower     // nil: the heap stays as it is
	profile   *profiler     // nil: no sampling
	unsampled error         // why
	exited    chan struct{} // closed when the root has ended; it is still a zombie then
	started   time.Time     // when the program was let go
	ended     time.Time     // valid once exited is closed
	emptied   time.Time     // when nothing was left of it

	thp        THP
	tree       *execTree     // nil: execs and exits are not told
	group      *cgroup.Group // nil: the program runs where folio does
	underLoad  cgroup.Usage  // what the group of a server counted under load
	groupErr   error         // why that is not known
	usedBefore unix.Rusage   // of the process, before it became the program
	alone      bool          // the program never had a child, known once it has ended

	mu sync.Mutex // guards started

	runtimes   *runtimes // nil: the GC is not read
	reading    *alarm    // rung: end
	hasRead    chan struct{}
	gc         gcTotals // what it did, of a server under load
	liveBefore uint64   // LivePeak before the load; 0 where there was no cycle

	endWait func() // ends the load of a server, or the wait for its answer; nil where there is none

	stopped bool // folio ended the program in due course: how it died is not a failure
}

// Run runs one trial. No process that it started is left when it returns.
func (p *Program) Run(ctx context.Context, s Setting, req Request) (_ *Sample, err error) {
	oneTrial.Lock()
	defer oneTrial.Unlock()
	if err := p.Check(); err != nil {
		return nil, err
	}
	if s.THP == THPCollapse {
		if err := MayCollapse(); err != nil {
			return nil, err
		}
	}
	heap := s.THP == THPHeap && !p.Patched
	tree := p.execTree(heap)
	var change heapChange
	if heap {
		if change, err = p.heapChange(tree); err != nil {
			return nil, err
		}
	}
	if err := becomeReaper(); err != nil {
		return nil, err
	}
	if p.Server != nil {
		if err := p.Server.Ready.PortTaken(ctx); err != nil {
			return nil, err
		}
	}
	r := &running{p: p, req: req, family: newFamily(p.FS), exited: make(chan struct{}), oomKills: oomKills(p.FS)}
	if p.Cgroups != nil {
		if r.group, err = p.Cgroups.New(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, r.endGroup()) }()
	}
	if err := r.start(s, tree, change); err != nil {
		return nil, err
	}
	defer guard()
	if p.Server != nil {
		return r.serve(ctx)
	}
	return r.run(ctx)
}

// guard ends all processes if folio itself fails, before it dies of it.
func guard() {
	if v := recover(); v != nil {
		EndAll()
		panic(v)
	}
}

// background runs f, and ends all processes should it panic: a panic in a
// goroutine ends folio without running the deferred calls of any other.
func background(f func()) {
	go func() {
		defer guard()
		f()
	}()
}

func (r *running) start(s Setting, tree *execTree, change heapChange) error {
	env := r.p.patched(s.Environ(r.p.environ()), s.THP)
	if err := r.open(env); err != nil {
		return err
	}
	r.witness = newWitness(r.p.FS)
	if r.req.KeepSeries || r.delays() {
		r.series = &Series{}
	}
	if r.p.ReadGC {
		r.runtimes = newRuntimes(r.p.FS)
		r.runtimes.begun = true
		r.runtimes.series = r.series
		r.runtimes.charged = r.charged()
		for _, problem := range gosetting.CheckAll(env, "") {
			r.runtimes.inherited = append(r.runtimes.inherited, problem.Variable)
		}
		if tree != nil {
			tree.runtimes = r.runtimes
		}
	}
	r.files.carry()
	if err := r.launch(env, s.THP, tree, change); err != nil {
		_ = r.files.finish()
		return err
	}
	r.thp = s.THP
	if r.profile != nil {
		r.profile.series = r.series
		if r.p.Server != nil {
			r.profile.members = map[int]bool{r.pid: true}
			r.profile.since.Store(math.MaxUint64) // until the load begins
		}
		background(r.profile.run)
	}
	r.family.own = []int{r.pid}
	r.witness.told = r.tree != nil
	r.sampler.series, r.sampler.witness = r.series, r.witness
	r.sampler.charged = newChargeReader(r.p.FS, r.group, r.p.memoryLimit())
	if r.runtimes != nil {
		if r.tree == nil {
			r.sampler.runtimes = r.runtimes
		}
		if err := r.readRuntimes(); err != nil {
			return err
		}
	}
	if r.req.KeepWaterfall {
		r.sampler.reader = newPeakReader(r.p.FS, r.begun)
		background(r.sampler.reader.run)
	}
	background(r.sampler.run)
	if s.THP == THPCollapse {
		r.follower = newFollower(r.p.FS, r.sampler.tree.PIDs)
		r.follower.start()
	}
	background(func() {
		awaitExit(r.pid)
		r.ended = time.Now()
		close(r.exited)
	})
	return nil
}

// readEvery is how often the runtimes are read: the observer of delays wants to have seen most
// cycles in detail.
func (r *running) readEvery() time.Duration {
	if r.delays() {
		return beat
	}
	return 2 * beat
}

// readRuntimes begins to read the runtimes.
func (r *running) readRuntimes() (err error) {
	if r.reading, err = newAlarm(); err != nil {
		r.runtimes.end()
		r.runtimes = nil // what the GC did is then not known
		return nil
	}
	r.hasRead = make(chan struct{})
	background(func() { r.runtimes.run(r.reading, r.readEvery(), r.hasRead) })
	return nil
}

// open makes the program's three streams.
func (r *running) open(env []string) (err error) {
	f := &r.files
	defer func() {
		if err != nil {
			f.closePassed()
		}
	}()
	stdin, err := r.p.stdin()
	if err != nil {
		return err
	}
	f.pass = append(f.pass, stdin)
	if r.p.ReadGC && traced(env) {
		f.lines = &gctrace.Counter{}
	}
	for i, dst := range []io.Writer{r.p.Stdout, r.p.Stderr} {
		file, ok := dst.(*os.File)
		if ok && r.p.Direct && (i == 0 || f.lines == nil) {
			err = f.give(i, file)
		} else {
			err = f.stream(i, dst, r.p.Metric)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stdin returns the program's standard input as a file of its own.
func (p *Program) stdin() (*os.File, error) {
	if p.Input != "" {
		f, err := os.Open(p.Input)
		if err != nil {
			return nil, fmt.Errorf("--input %w", err)
		}
		return f, nil
	}
	if p.Stdin == nil {
		return os.Open(os.DevNull)
	}
	if p.Again {
		// A descriptor of its own has a position of its own. Whose file it is that
		// somebody else opened may not be ours to open; then trials share it.
		if f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", p.Stdin.Fd())); err == nil {
			return f, nil
		}
		if _, err := p.Stdin.Seek(0, io.SeekStart); err != nil && !errors.Is(err, unix.ESPIPE) {
			return nil, fmt.Errorf("read standard input again: %w", err)
		}
	}
	fd, err := unix.FcntlInt(p.Stdin.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup stdin", err)
	}
	return os.NewFile(uintptr(fd), "stdin"), nil
}

// run waits for the program's own end.
func (r *running) run(ctx context.Context) (*Sample, error) {
	out := &Sample{}
	err := r.await(ctx, out, r.exited, r.req.Timeout)
	ru, ws := r.collect(out)
	if err != nil {
		return nil, err
	}
	out.Wall = r.ended.Sub(r.started).Seconds()
	if r.tree != nil {
		out.Wall = max(r.ended.Sub(r.started)-r.tree.waited(), 0).Seconds()
	}
	if out.Leftovers > 0 {
		out.Outlived = r.emptied.Sub(r.ended).Seconds()
	}
	r.fill(out, &ru, ws)
	if err := r.ownEnd(ctx, out); err != nil {
		return nil, err
	}
	r.fillProfile(out)
	r.fillGC(out)
	return out, r.streamError()
}

// ownEnd returns the error of ctx if that may be what a program ended of, in whatever way: the
// trial does not exist then.
func (r *running) ownEnd(ctx context.Context, out *Sample) error {
	code, _ := value(out.ExitCode)
	likely := slices.Contains(interrupts, out.Signal) || code == exitInterrupted
	if likely && r.p.Signals == nil && !out.TimedOut && !out.OverMemory {
		return r.hear(ctx, out)
	}
	return ctx.Err()
}

// interrupts are the signals that ask folio to end, which a terminal, or whoever ends a group of
// processes, sends to its programs as well. Shells and many programs exit with exitInterrupted
// after the first.
var interrupts = []string{"SIGINT", "SIGHUP", "SIGTERM", "SIGQUIT"}

const exitInterrupted = 130

// hearsWithin is how long folio may take to hear of a signal that its program
// has heard of already.
const hearsWithin = 500 * time.Millisecond

// hear waits until folio hears of a signal that a program may have ended of: ctrl-C on a terminal
// goes to the program and to folio at the same instant, and the program can be gone before folio
// knows. That is not a failure of the program. It returns the error of ctx.
func (r *running) hear(ctx context.Context, out *Sample) error {
	if out.Interrupted {
		return ctx.Err()
	}
	t := time.NewTimer(hearsWithin)
	defer t.Stop()
	select {
	case <-r.p.Signals:
		out.Interrupted = true
	case <-ctx.Done():
	case <-t.C:
	}
	return ctx.Err()
}

// await waits for done (the program, or its load) and ends the program early
// where that is due; limit is for how long it may take, 0 for any time. The
// error says that the trial does not exist.
func (r *running) await(ctx context.Context, out *Sample, done <-chan struct{}, limit time.Duration) error {
	var timeout, tooLate <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		timeout = t.C
	}
	for {
		select {
		case <-done:
			out.Interrupted = out.Interrupted || len(r.p.Signals) > 0 // of the two, chance picks one
			return nil
		case sig := <-r.p.Signals:
			out.Interrupted = true
			if tooLate != nil { // a second signal: the user does not want to wait
				r.family.end(0)
				continue
			}
			r.witness.lookNow(r.sampler.tree.PIDs())
			if r.endWait != nil {
				r.endWait() // the server is stopped after it
			} else {
				r.forward(sig)
			}
			tooLate = time.After(graceSignal)
		case <-tooLate:
			r.family.end(0)
		case <-r.sampler.over:
			out.OverMemory = true
			out.Failure = fmt.Sprintf("ended: its memory passed %s", unit.Exact(r.p.MaxMemory))
			r.family.end(0)
			<-r.exited
			return nil
		case <-timeout:
			out.TimedOut = true
			out.Failure = fmt.Sprintf("took longer than %v", limit.Round(time.Millisecond))
			r.witness.lookNow(r.sampler.tree.PIDs())
			r.family.end(graceLeftover)
			<-r.exited
			return nil
		case <-ctx.Done():
			r.family.end(graceStop)
			<-r.exited
			return ctx.Err()
		}
	}
}

// forward passes a signal on, unless the terminal gave it to the program as
// well: a second interrupt means "now!" to many programs.
func (r *running) forward(sig os.Signal) {
	n, ok := sig.(syscall.Signal)
	if ok && !launch.FromTerminal(n) {
		_ = unix.Kill(r.pid, n)
	}
}

// collect ends what the program left behind, reaps everything and drains the
// output.
func (r *running) collect(out *Sample) (unix.Rusage, unix.WaitStatus) {
	if r.follower != nil {
		r.follower.end()
	}
	r.sampler.end()
	if r.sampler.reader != nil {
		r.sampler.reader.end()
	}
	childless := r.hadNoChild()
	ws, ru, _ := reap(r.pid)
	r.family.own = nil
	out.Leftovers = r.family.end(graceLeftover)
	r.family.reapOrphans()
	r.emptied = time.Now()
	if r.tree != nil {
		r.tree.end()
	}
	if r.runtimes != nil {
		r.reading.ring()
		<-r.hasRead
		r.reading.close()
	}
	r.alone = childless && out.Leftovers == 0 && r.family.reaped == 0
	addRusage(&ru, &r.family.used)
	subtractRusage(&ru, &r.usedBefore)
	if r.profile != nil {
		r.profile.stop()
	}
	_ = r.files.finish() // streamError reports
	return ru, ws
}

// streamError returns why the output could not be passed on.
func (r *running) streamError() error {
	if err := r.files.finish(); err != nil {
		return fmt.Errorf("pass the program's output on: %w", err)
	}
	return nil
}

// A write to a closed standard output must be an error to us, not the end of
// folio. Catching the signal, unlike ignoring it, is not inherited by programs.
func init() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }
