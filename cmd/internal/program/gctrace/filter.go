package gctrace

import (
	"io"
	"sync"
	"time"
)

const (
	// maxHeld bounds the bytes held back.
	maxHeld = 64 << 10
	// tolerance is how far a line's time may lie in the future. Process start and
	// the caller's clock are not the same instant.
	tolerance = 100 * time.Millisecond
	// proof is how many fragments of a line, in a write each, show that the runtime wrote
	// them: "gc ", "7", " @".
	proof = 3
	// doubt is for how many writes behind a line its newline may turn out to be the program's.
	doubt = 8
)

// Options configures a [Filter]. Nil, and every zero field, mean the default.
type Options struct {
	// OnCycle is called for each complete line, as it completes. Default: none.
	OnCycle func(Cycle)

	// Elapsed returns the time since the program was started. A line from
	// further in the future than 100 ms cannot come from this run. It is passed on
	// as text and not counted. Default: no check.
	Elapsed func() time.Duration

	// Traced says that the programs were asked for the trace. Then a write of "gc ", and
	// one of the next number behind it, that end the stream are a line that its process did
	// not live to complete. Default: they are text.
	Traced bool

	// Keep passes everything on, at once, and only counts: for a user who
	// asked for the trace himself. Default: lines are taken out.
	Keep bool
}

// Filter takes the trace lines out of a stream and passes everything else on to
// a writer, in its order. A Filter is not safe for concurrent use.
type Filter struct {
	dst  io.Writer
	opts Options
	err  error // first error of dst

	held   []byte // the line, and the text in it and behind it
	parts  []part // of held
	pieces int    // of the line; 0: there is none
	state  state
	done   bool // the line is complete
	mid    bool // it stands within a line of text
	after  int  // writes since it was complete

	last  int  // number of the latest line
	mixed bool // some line was disturbed
	text  byte // the latest byte of text
}

// A part of what is held ends at an offset.
type part struct {
	end   int
	trace bool
}

// NewFilter returns a filter that writes to dst.
func NewFilter(dst io.Writer, opts *Options) *Filter {
	f := &Filter{dst: dst, text: '\n'}
	if opts != nil {
		f.opts = *opts
	}
	return f
}

// Write takes p in, which one write of the program wrote: what one read from a pipe in
// packet mode returned. It always consumes all of p and goes on counting when dst
// fails, so that the program never blocks; the first error of dst is returned
// by every later call.
func (f *Filter) Write(p []byte) (int, error) {
	n := len(p)
	if f.opts.Keep {
		f.emit(p)
	}
	if n > 0 {
		f.take(p)
	}
	return n, f.err
}

func (f *Filter) take(p []byte) {
	if f.done {
		switch {
		case begins(p):
			f.release(false)
		case f.doubtful(p):
			f.release(true)
			f.pass(p)
			return
		default:
			f.hold(p, false)
			f.mid = f.mid && string(p) != "\n" // the line of text has ended
			if f.after++; f.after >= doubt || len(f.held) > maxHeld {
				f.release(false)
			}
			return
		}
	}
	if f.pieces == 0 {
		if !begins(p) {
			f.pass(p)
			return
		}
		prepareLines()
		f.state = stateStart
	}
	to, ok := fragment(f.state, p)
	switch {
	case ok:
		f.state = to
		f.pieces++
		f.hold(p, true)
		if lines.info[to].done {
			f.complete()
		}
	case string(p) != "\n" && isFragment(p) || len(f.held)+len(p) > maxHeld: // a newline is the last piece, and not due
		// Whose piece this is cannot be told, nor whose those before were.
		f.mixed = true
		anew := f.pieces >= proof
		f.release(true)
		if anew {
			f.take(p)
		} else { // even the beginning may be the program's
			f.pass(p)
		}
	default:
		f.hold(p, false)
	}
}

// begins reports whether p is what the runtime writes first of a line.
func begins(p []byte) bool {
	switch string(p) {
	case "gc ", "scvg", "scvg: ", "scvg: inuse: ":
		return true
	}
	return false
}

// complete counts the line, and takes it for whole until there is doubt.
func (f *Filter) complete() {
	f.done, f.after, f.mid = true, 0, f.text != '\n'
	if lines.info[f.state].scavenger {
		return
	}
	var line []byte
	from := 0
	for _, p := range f.parts {
		if p.trace {
			line = append(line, f.held[from:p.end]...)
		}
		from = p.end
	}
	c, err := Parse(line)
	if err != nil || f.opts.Elapsed != nil && c.At > f.opts.Elapsed()+tolerance {
		f.release(true)
		return
	}
	f.last = c.N
	if f.opts.OnCycle != nil {
		f.opts.OnCycle(c)
	}
}

// doubtful reports whether p, behind a complete line, may be the end of that line, and the
// newline that completed it the program's. Then only the program knows where it wrote its
// own. If p comes at once, either may go.
func (f *Filter) doubtful(p []byte) bool {
	if string(p) == forced {
		return true
	}
	return string(p) == "\n" && f.after > 0 && (f.mid || f.text == '\n')
}

func (f *Filter) hold(p []byte, trace bool) {
	f.held = append(f.held, p...)
	f.parts = append(f.parts, part{len(f.held), trace})
	if !trace {
		f.text = p[len(p)-1]
	}
}

// release passes on what is held: all of it, or what is text.
func (f *Filter) release(all bool) {
	text := f.held
	if !all {
		text = text[:0]
		from := 0
		for _, p := range f.parts {
			if !p.trace {
				text = append(text, f.held[from:p.end]...)
			}
			from = p.end
		}
	}
	f.held, f.parts, f.pieces, f.done = f.held[:0], f.parts[:0], 0, false
	f.pass(text)
}

// Held reports whether bytes are held back because they are, or may be, of a trace
// line, or follow one. If nothing more arrives for a while, call [Filter.Flush].
func (f *Filter) Held() bool { return len(f.held) > 0 }

// Begun reports whether a line has begun and is not complete.
func (f *Filter) Begun() bool { return f.Held() && !f.done }

// Mixed reports whether some line was disturbed, so that it was passed on and not counted.
func (f *Filter) Mixed() bool { return f.mixed }

// Flush passes on what is held, but for a line that is the runtime's beyond doubt. Call it
// when the stream has been quiet for so long that no process can be in the middle of a line,
// and [Filter.End] at the end of the stream.
func (f *Filter) Flush() error {
	if f.Held() {
		f.release(!f.done && f.pieces < proof)
	}
	return f.err
}

// End is Flush at the end of the stream.
func (f *Filter) End() error {
	if f.opts.Traced && len(f.parts) > 0 && len(f.parts) == f.pieces && f.pieces < proof && f.isNext() {
		f.release(false)
	}
	return f.Flush()
}

// isNext reports whether what is held is the beginning of the next line of the process that
// wrote the last, or of the first line of all.
func (f *Filter) isNext() bool {
	s := scanner{b: f.held}
	s.lit("gc ")
	if s.err == nil && s.i == len(s.b) {
		return true
	}
	n := s.uint(1<<31 - 1)
	return s.err == nil && (n == 1 || int(n) == f.last+1)
}

// pass writes text on, unless Keep has done so already.
func (f *Filter) pass(p []byte) {
	if len(p) == 0 {
		return
	}
	f.text = p[len(p)-1]
	if !f.opts.Keep {
		f.emit(p)
	}
}

func (f *Filter) emit(p []byte) {
	if len(p) == 0 || f.err != nil {
		return
	}
	n, err := f.dst.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	f.err = err
}

// fragment returns the state after a line in state st went on with p, and whether
// p is just one fragment.
func fragment(st state, p []byte) (state, bool) {
	if info := &lines.info[st]; !info.edge && st != stateStart {
		return stateNone, false
	}
	first := lines.step(st, p[0])
	if lines.info[st].num && lines.info[first].num {
		return stateNone, false // a number that goes on was not written whole
	}
	frag := lines.info[first].frag
	var n digits
	for _, c := range p {
		st = lines.step(st, c)
		if st == stateNone || lines.info[st].frag != frag || !n.fit(st) {
			return stateNone, false
		}
	}
	return st, lines.info[st].edge
}

// isFragment reports whether p is a fragment of some line.
func isFragment(p []byte) bool {
	for _, st := range edges() {
		if _, ok := fragment(st, p); ok {
			return true
		}
	}
	return false
}

// edges returns the states in which a line may be interrupted, and what is
// before any line.
var edges = sync.OnceValue(func() []state {
	var all []state
	for s, info := range lines.info {
		if info.edge && !info.done || state(s) == stateStart {
			all = append(all, state(s))
		}
	}
	return all
})
