package trial

import (
	"bufio"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/internal/base/input"
)

// An aside is a process whose trace goes elsewhere.
type aside struct {
	of    execution
	to    string
	since time.Time

	// Of a regular file, what is in it in the end; of anything else, what the runtime counts.
	file  *os.File
	info  os.FileInfo
	from  int64 // where in it what is new begins
	least bool  // some of it may be before that

	runtime *readRuntime // nil: not open
}

const (
	// countAfter is for how long a process has run when its runtime is opened, which takes some
	// 10 ms of CPU time: see share.
	countAfter = time.Second
	// mostTraced bounds how many processes are kept an eye on at a time, with a file open for each.
	mostTraced = 64
)

// lookAside looks at where the standard error of a process goes; nil if that is closed, cannot be
// looked at, or is known.
func (w *witness) lookAside(e execution) *aside {
	path := w.fs.DescriptorPath(e.pid, stderr)
	to, err := os.Readlink(path)
	if err != nil || len(w.aside) == mostTraced {
		return nil
	}
	a := &aside{of: e, to: place(to), since: time.Now()}
	// To ask for its kind by itself opens no pipe and no device.
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return a
	}
	if a.file, a.info, err = input.Open(path); err != nil {
		a.file = nil
		return a
	}
	if appends, err := w.fs.Appends(e.pid, stderr); appends || err != nil {
		a.from, a.least = a.info.Size(), true
	}
	for _, o := range w.aside {
		if o.file != nil && os.SameFile(o.info, a.info) {
			o.least = o.least || !a.least // it may have been truncated for this one
			a.file.Close()
			return nil
		}
	}
	return a
}

const stderr = 2

// place is the target of a link in /proc/PID/fd as a person calls it.
func place(link string) string {
	kind, _, _ := strings.Cut(link, ":[")
	switch kind {
	case "pipe", "socket":
		return "a " + kind
	}
	return link
}

// readAsides reads the runtimes' counts.
func (w *witness) readAsides() {
	for _, a := range w.aside {
		switch {
		case a.file != nil:
		case a.runtime != nil:
			a.runtime.read(a.of.pid)
		case time.Since(a.since) >= countAfter:
			if now, ok := w.executionOf(a.of.pid); ok && now == a.of {
				a.runtime = openRuntime(&w.files, w.fs, a.of.pid, true)
			}
		}
	}
}

// lines returns how many lines of the trace went there.
func (a *aside) lines() (n int, known, least bool) {
	if a.file != nil {
		n, all, err := traceLines(io.NewSectionReader(a.file, a.from, mostTrace))
		least = a.least || !all
		return n, err == nil && (n > 0 || !least), least
	}
	if a.runtime == nil || a.runtime.f.Cycles == 0 {
		return 0, false, false
	}
	return int(a.runtime.f.Cycles), true, true // there may have been more since the last look
}

// close closes what is open. A nil one does nothing.
func (a *aside) close() {
	if a == nil {
		return
	}
	if a.file != nil {
		a.file.Close()
	}
	if a.runtime != nil {
		a.runtime.close()
	}
}

// mostTrace bounds how much of a file is searched for lines of the trace.
const mostTrace = 64 << 20

// traceLines counts the lines of r that are of the trace, all of them unless there is more than
// mostTrace.
func traceLines(r *io.SectionReader) (n int, all bool, err error) {
	b := bufio.NewReaderSize(r, 64<<10)
	for begun := true; ; {
		line, err := b.ReadSlice('\n')
		if begun && err == nil {
			if _, bad := gctrace.Parse(line); bad == nil {
				n++
			}
		}
		begun = err == nil
		if errors.Is(err, io.EOF) {
			at, err := r.Seek(0, io.SeekCurrent)
			return n, at < mostTrace, err
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return n, false, err
		}
	}
}

// asides returns where traces went that folio did not see, each place once, and closes what was
// opened for it.
func (w *witness) asides() (out []TraceAside) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.aside {
		n, known, least := a.lines()
		a.close()
		i := slices.IndexFunc(out, func(o TraceAside) bool { return o.To == a.to })
		if i < 0 {
			i = len(out)
			out = append(out, TraceAside{To: a.to})
		}
		to := &out[i]
		to.Least = to.Least || least || !known
		if known {
			sum := n
			if to.Lines != nil {
				sum += *to.Lines
			}
			to.Lines = &sum
		}
	}
	w.aside = nil
	return out
}
