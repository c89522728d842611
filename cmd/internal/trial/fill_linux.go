package trial

import (
	"cmp"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/system/procmem"
)

// fill turns what was collected into the sample.
func (r *running) fill(out *Sample, ru *unix.Rusage, ws unix.WaitStatus) {
	if r.p.Server == nil { // else they are of the time under load, and known
		out.User = float64(ru.Utime.Nano()) / 1e9
		out.Sys = float64(ru.Stime.Nano()) / 1e9
		out.CPU = out.User + out.Sys
		out.MinorFaults, out.MajorFaults = int64(ru.Minflt), int64(ru.Majflt) // 32 bits on some systems
	}
	r.fillMemory(out, uint64(ru.Maxrss)<<10)
	if r.sampler.hugeSeen {
		huge := r.sampler.peakHuge
		out.HugePeak = &huge
	}
	r.fillGroup(out)
	r.fillExit(out, ws)
	if r.follower != nil {
		r.follower.fill(out)
	}
	if r.p.Server == nil { // else the load generator's output has them
		fillMetrics(out, r.p.Metric, r.files.collectors[:])
	}
	if r.sampler.reader != nil && out.PeakRSS != nil {
		out.Waterfall = r.sampler.reader.best(*out.PeakRSS)
	}
	out.Tail = r.files.tail()
	r.series.finish()
	if r.req.KeepSeries {
		out.Series = r.series
	}
}

// fillMemory fills the peaks: that of the tree is the largest process's where there was
// no other, and else what was seen, if that was more than a glimpse.
func (r *running) fillMemory(out *Sample, maxrss uint64) {
	out.PeakRSS, out.PeakRSSSource = r.sampler.peakRSS(maxrss)
	if r.alone {
		out.PeakTreeRSS, out.PeakTreeRSSSource = out.PeakRSS, out.PeakRSSSource
		if out.PeakTreeRSSSource == Sampled {
			_, out.PeakTreeRSSLooks = r.sampler.largest.most(0)
		}
		return
	}
	atLeast, _ := value(out.PeakRSS)
	tree, looks := r.sampler.trees.most(uint64(atLeast))
	if looks > 0 && r.sampler.trees.looks >= fewLooks || out.OverMemory {
		out.PeakTreeRSS, out.PeakTreeRSSSource, out.PeakTreeRSSLooks = &tree, Sampled, looks
	}
}

// fillGC fills in what the GC did. Where the time went must be known by then.
func (r *running) fillGC(out *Sample) {
	if r.p.Server == nil {
		out.Listening = r.witness.listening()
	}
	out.Processes = r.witness.processes(r.pid, r.tree, r.alone)
	if r.tree != nil {
		r.tree.fill(out)
	}
	if r.runtimes == nil {
		return
	}
	gc := r.gc
	if r.p.Server == nil {
		gc = r.runtimes.totals()
	}
	r.runtimes.end()
	out.Held = r.runtimes.holds()
	out.Unread = r.runtimes.unreadSettings()
	if r.tree == nil && gc.err == nil && (gc.known || !r.alone) {
		gc.err = errUntold
	}
	if r.tree == nil && r.thp == THPHeap {
		n := max(gc.processes-1, 0)
		out.GoChildren = &n
	}
	if lines := tracedTotals(r.files.lines); lines != nil && gc.err != nil && lines.Cycles > gc.Cycles {
		gc = *lines
	}
	out.setGC(gc)
}

// fillProfile fills in where the CPU time of out went.
func (r *running) fillProfile(out *Sample) {
	out.Unsampled = r.unsampled
	if r.profile != nil {
		r.profile.fill(out, r.req.Keep)
	}
}

func (r *running) fillExit(out *Sample, ws unix.WaitStatus) {
	switch {
	case ws.Signaled():
		out.Signal, out.SignalNumber = signalName(ws.Signal()), int(ws.Signal())
		if out.Failure == "" && !r.stopped {
			out.Failure = "killed by " + out.Signal
			if ws.Signal() == unix.SIGKILL && out.counted().OOMKills == nil && oomKills(r.p.FS) > r.oomKills { // else nobody was out of memory
				out.Failure += " (out of memory?)"
			}
		}
	case ws.Exited():
		code := ws.ExitStatus()
		out.ExitCode = &code
		if code != 0 && out.Failure == "" && !r.stopped && !r.p.IgnoreExit {
			out.Failure = fmt.Sprintf("exit code %d", code)
		}
	}
}

// oomKills counts the kills of the kernel's OOM killer on this machine, those of cgroups among
// them; 0 where that is not known.
func oomKills(fs procmem.FS) uint64 {
	vm, _ := fs.Vmstat() // unknown counts as none
	return vm["oom_kill"]
}

// signalName names a signal; those for real time (34 to 64) have numbers only.
func signalName(s unix.Signal) string { return cmp.Or(unix.SignalName(s), fmt.Sprintf("signal %d", s)) }

// fillMetrics takes the figures from collectors of output.
func fillMetrics(out *Sample, spec *metric.Spec, from []*metric.Collector) {
	for _, c := range from {
		c.Close()
		for k, v := range c.Benchmarks() {
			out.setMetric(k, v)
		}
		out.LeftOut = append(out.LeftOut, c.LeftOut()...)
		if spec == nil || spec.Pattern == nil {
			continue
		}
		if v, ok, err := c.Value(); ok {
			out.setMetric(spec.Name, v)
		} else if err != nil && out.Failure == "" {
			out.Failure = fmt.Sprintf("metric %s: %v", spec.Name, err)
		}
	}
	if out.Failure == "" && spec != nil && !out.has(spec) {
		out.Failure = "metric " + spec.Name + ": " + spec.Missing()
	}
}

// has says whether the sample has what is to be optimized.
func (s *Sample) has(spec *metric.Spec) bool {
	switch {
	case spec.Pattern != nil:
		_, ok := s.Metrics[spec.Name]
		return ok
	case spec.OfLoad():
		_, ok := s.OfLoad(spec.Name)
		return ok
	case spec.Name == metric.Bench:
		return len(metric.BenchKeys(s.Metrics)) > 0
	}
	return true
}

func (s *Sample) setMetric(name string, v float64) {
	if s.Metrics == nil {
		s.Metrics = make(map[string]float64)
	}
	s.Metrics[name] = v
}

// hadNoChild says that the program, a zombie now, never had a child: none was seen,
// and the kernel has none in its accounts. Children of a program that ignores SIGCHLD
// would not be in them.
func (r *running) hadNoChild() bool {
	if r.sampler.several {
		return false
	}
	stat, err := r.p.FS.Stat(r.pid)
	if err != nil || stat.CMinFlt+stat.CMajFlt > 0 || stat.CUTime+stat.CSTime > 0 {
		return false
	}
	status, err := r.p.FS.Status(r.pid)
	return err == nil && status.Ignored != nil && *status.Ignored&(1<<(unix.SIGCHLD-1)) == 0
}
