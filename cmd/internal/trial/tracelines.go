package trial

import (
	"bytes"
	"errors"
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// traceLines counts the GC cycles of a stream by the lines of GODEBUG=gctrace=1 in it, for
// programs whose runtimes cannot be read: by whole lines that nothing came between.
type traceLines struct {
	line []byte
	all  gcTotals
	last int  // number of the last cycle
	gaps bool // there were more
}

// traced says whether an environment asks Go programs for their trace.
func traced(env []string) bool {
	godebug, _ := getenv(env, "GODEBUG")
	on := false
	for _, kv := range strings.Split(godebug, ",") {
		if k, v, ok := strings.Cut(kv, "="); ok && strings.TrimSpace(k) == "gctrace" {
			on = v != "0" && v != ""
		}
	}
	return on
}

// mostLine bounds a line: no line of a trace is as long.
const mostLine = 1 << 10

func (t *traceLines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		part, rest, ended := bytes.Cut(p, []byte("\n"))
		t.line = append(t.line, part[:min(len(part), mostLine-len(t.line))]...)
		if !ended {
			return n, nil
		}
		t.add(t.line)
		t.line, p = t.line[:0], rest
	}
}

func (t *traceLines) add(line []byte) {
	c, err := gctrace.Parse(line)
	if err != nil {
		t.gaps = t.gaps || bytes.Contains(line, []byte(" ms clock, "))
		return
	}
	t.gaps, t.last = t.gaps || c.N != t.last+1, c.N
	pause, longest := c.Pause()
	f := gccount.Figures{Cycles: 1, PauseTotal: pause, PauseMax: pause, HeapPeak: c.HeapEnd, LivePeak: c.HeapLive,
		CPU:  goruntime.GCCPU{Assist: c.AssistCPU, Dedicated: c.BackgroundCPU, Idle: c.IdleCPU, Pause: c.SweepTermCPU + c.MarkTermCPU},
		Seen: 1, HeapSum: c.HeapEnd, LiveSum: c.HeapLive}
	if c.Forced {
		f.Forced = 1
	}
	t.all.Figures, t.all.known = t.all.Plus(f), true
	t.all.stops.longest = max(t.all.stops.longest, longest)
}

// errLines says that not all lines may have been seen.
var errLines = errors.New("not every line of the GC trace stands by itself in the output")

// totals returns what was counted; nil for nothing.
func (t *traceLines) totals() *gcTotals {
	if t == nil || !t.all.known {
		return nil
	}
	if t.gaps {
		t.all.err = errLines
	}
	return &t.all
}
