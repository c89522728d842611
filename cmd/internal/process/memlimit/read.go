package memlimit

import (
	"cmp"
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
)

// NewContainer takes the limit in effect of a process.
func NewContainer(l procmem.Limit) Container {
	c := Container{Limit: l.Bytes, Level: l.Level(), Fixed: l.Memory.Fixed()}
	if s := l.Memory.Shared; s != nil {
		c.Shared = *s
	}
	if k := l.Memory.Kernel; k != nil {
		c.Kernel = *k
	}
	return c
}

// OfWaterfall is the runtime of a process by the parts of its memory; outside is what the process
// has outside it that counts to its container. Clean pages of files can be dropped.
func OfWaterfall(pid int, w *waterfall.Waterfall) (r Runtime, outside uint64) {
	r.PID = pid
	part := func(k waterfall.Kind) uint64 { return uint64(max(w.Part(k).Bytes, 0)) }
	held := func(k waterfall.Kind) uint64 {
		if p := w.Part(k); p.Runtime != nil {
			return *p.Runtime
		}
		return part(k)
	}
	for _, k := range []waterfall.Kind{waterfall.Live, waterfall.Since, waterfall.Unused, waterfall.Free, waterfall.Stacks, waterfall.Metadata} {
		r.Resident += part(k)
	}
	for _, k := range []waterfall.Kind{waterfall.Live, waterfall.Unused, waterfall.Stacks, waterfall.Metadata} {
		r.Needs += held(k)
	}
	for _, k := range []waterfall.Kind{waterfall.Repopulated, waterfall.Rounding, waterfall.Data, waterfall.Malloc, waterfall.ThreadStacks,
		waterfall.Named, waterfall.Other, waterfall.Shared} {
		outside += part(k)
	}
	r.Live = held(waterfall.Live) + held(waterfall.Stacks)
	if w.GC != nil && w.GC.Limit != nil {
		r.Limit = *w.GC.Limit
	}
	return r, outside
}

// OfState is the runtime of a process by its own count. anonymous is what the process has in
// anonymous memory.
func OfState(pid int, name string, s goruntime.State, anonymous uint64) Runtime {
	r := Runtime{PID: pid, Name: name, Resident: anonymous}
	if s.Held != nil {
		r.Resident = min(*s.Held, anonymous)
	}
	for _, n := range []*uint64{s.Marked, s.Stacks} {
		if n != nil {
			r.Live += *n
		}
	}
	r.Needs = r.Live
	if s.Limit != nil && *s.Limit != math.MaxInt64 {
		r.Limit = uint64(max(*s.Limit, 0))
	}
	return r
}

const (
	// mostOthers is how many further runtimes are read, and leastOther the least anonymous memory of
	// a process that is: to find the runtime in a program takes milliseconds.
	mostOthers = 8
	leastOther = 16 << 20
)

// Others reads the further Go runtimes of a memory cgroup, the largest first. What may not be read
// counts as memory outside the runtimes.
func Others(fs procmem.FS, g procmem.MemoryGroup, pid int) (out []Runtime) {
	type process struct {
		pid  int
		anon uint64
	}
	var all []process
	for _, other := range g.Processes() {
		if st, err := fs.Status(other); other != pid && err == nil && st.RssAnon != nil && *st.RssAnon >= leastOther {
			all = append(all, process{other, *st.RssAnon})
		}
	}
	slices.SortStableFunc(all, func(a, b process) int { return cmp.Compare(b.anon, a.anon) })
	for _, p := range all[:min(len(all), mostOthers)] {
		build, err := goruntime.ReadBuild(fs.ExePath(p.pid))
		if err != nil {
			continue
		}
		r, err := goruntime.OpenState(fs, p.pid, build.GoVersion)
		if err != nil {
			continue
		}
		state, err := r.Read()
		_ = r.Close()
		if st, serr := fs.Stat(p.pid); err == nil && serr == nil {
			out = append(out, OfState(p.pid, st.Comm, state, p.anon))
		}
	}
	return out
}
