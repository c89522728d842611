package gctrace

import (
	"bytes"
	"io"
	"time"
)

const (
	// maxHeld bounds the bytes held back. Past it the oldest incomplete line is
	// given up.
	maxHeld = 64 << 10
	// maxSegment is how much the search looks at in one go. It is the size of
	// the largest packet, so that only what cannot be a packet is cut.
	maxSegment = 4096
	// trimFrom is the number of held bytes from which the filter looks for a part
	// that is already decided. With several processes some line is nearly always
	// open, and waiting for a moment without one could take for ever.
	trimFrom = 8 << 10
	// relayMemory is for how many lines a relay is remembered. A quick one passes
	// most lines on fragment by fragment, so that few of them show it.
	relayMemory = 1000
	// directAfter is after how many lines in fragments a stream is taken for one
	// without a relay.
	directAfter = 4
	// tolerance is how far a line's time may lie in the future. Process start and
	// the caller's clock are not the same instant.
	tolerance = 100 * time.Millisecond
)

// Options configures a [Filter]. Nil, and every zero field, mean the default.
type Options struct {
	// OnCycle is called for each complete line taken out, in order of their
	// completion. Default: none.
	OnCycle func(Cycle)

	// Elapsed returns the time since the program was started. A line from
	// further in the future than 100 ms cannot come from this run: the program
	// shows an old trace. It is passed on as text and not counted.
	// Default: no check.
	Elapsed func() time.Duration

	// Traced says that the programs were asked for the trace. Then a write of "gc ", and
	// a write of "1" behind it, that end the stream are the first line of one that did
	// not live to complete it. Default: they are text.
	Traced bool

	// Keep passes everything on, at once, and only counts: for a user who
	// asked for the trace himself. Default: lines are taken out.
	Keep bool
}

// Filter takes the trace lines out of a stream and passes everything else on to
// a writer. Its output is its input less the bytes of the trace lines: the complete ones,
// and those that their process did not live to complete.
// A Filter is not safe for concurrent use.
type Filter struct {
	dst  io.Writer
	opts Options
	err  error // first error of dst

	held []byte // input not yet decided on
	base int64  // offset of held[0] in the stream

	straight straight // the line being followed without a search

	hyps    []*hyp // readings of held, best first; none if nothing is held
	spare   []*hyp // discarded, for reuse
	queue   []*hyp // search: readings not yet at the end of the segment
	group   []*hyp // search: readings at the same place
	starts  []int  // search: where lines may begin in the segment
	text    []byte // scratch for the text of one line
	chain   []*node
	dead    []int64 // starts of lines that turned out not to be of this run
	relayed int     // lines for which to remember that one came by a relay
	full    bool    // the segment before was cut by its size, not by a writer
	newline bool    // and ended in a newline
	direct  int     // lines in sequence that came in fragments
	trimAt  int     // size of held that calls for the next trim
	packets int     // that went through the search
	ended   bool    // nothing more comes
	gone    []int64 // starts of lines that end unfinished, to be dropped
	taken   int64   // bytes of lines taken out, for tests
	dropped int64   // and those of them that were unfinished

	last map[int]time.Duration // time of the last line of each process, by its number
}

// NewFilter returns a filter that writes to dst.
func NewFilter(dst io.Writer, opts *Options) *Filter {
	f := &Filter{dst: dst, trimAt: trimFrom, last: make(map[int]time.Duration)}
	if opts != nil {
		f.opts = *opts
	}
	return f
}

// Write takes p in: ideally what one read from a packet-mode pipe returned, but
// any cut is handled. It always consumes all of p and goes on counting when dst
// fails, so that the program never blocks; the first error of dst is returned
// by every later call.
func (f *Filter) Write(p []byte) (int, error) {
	n := len(p)
	if f.opts.Keep {
		f.emit(p)
	}
	if n > 0 && !f.followStraight(p) {
		f.take(p)
	}
	return n, f.err
}

// take puts p through the search.
func (f *Filter) take(p []byte) {
	whole := len(p) <= maxSegment
	for len(p) > 0 {
		if !f.Held() {
			i := f.nextStart(p, 0)
			f.pass(p[:i])
			if i > 0 {
				f.full, f.newline = i == len(p) && i >= maxSegment, p[i-1] == '\n'
			}
			if i == len(p) {
				break
			}
			whole = whole && i == 0
			p = p[i:]
			prepareLines()
		}
		seg := p[:min(len(p), maxSegment)]
		p = p[len(seg):]
		f.held = append(f.held, seg...)
		f.search(seg, whole)
		f.settle()
		f.full, f.newline = len(seg) == maxSegment, seg[len(seg)-1] == '\n'
	}
}

// Held reports whether bytes are held back because they may belong to a trace
// line. If nothing more arrives for a while, call [Filter.Flush].
func (f *Filter) Held() bool { return len(f.held) > 0 }

// Begun reports whether what is held begins like a trace line beyond the letters
// in which ordinary text may end: a "g" is soon given up on, a "gc " is not.
func (f *Filter) Begun() bool {
	return bytes.Contains(f.held, []byte("gc ")) || bytes.Contains(f.held, []byte("scvg"))
}

// Flush gives up on incomplete lines: all held bytes are passed on in their order, but
// those of lines, complete or not, that are the runtime's beyond doubt. Call it when the
// stream has been quiet for so long that no process can be in the middle of a line, and
// [Filter.End] at the end of the stream.
func (f *Filter) Flush() error {
	f.leaveStraight()
	if f.Held() {
		f.trim() // the lines before tell of those that end here
		ends := f.endings()
		best, cost := f.hyps[0], 0
		for i, h := range f.hyps {
			c := h.cost
			for j := range h.lines {
				if l := &h.lines[j]; !ends.drop(l) {
					c += foreignByte * l.size // its bytes become text
				}
			}
			if i == 0 || c < cost {
				best, cost = h, c
			}
		}
		for i := range best.lines {
			if l := &best.lines[i]; ends.drop(l) {
				f.gone = append(f.gone, l.start)
			}
		}
		f.commit(best)
	}
	return f.err
}

// End is Flush at the end of the stream.
func (f *Filter) End() error {
	f.ended = true
	return f.Flush()
}

// pass writes text on, unless Keep has done so already.
func (f *Filter) pass(p []byte) {
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

// nextStart is [nextStart] for what comes next.
func (f *Filter) nextStart(p []byte, i int) int {
	return nextStart(p, i, f.relayed > 0, !f.full || f.newline)
}

// nextStart returns the first place from i on where a line may begin, or len(p).
// At the very end of p that can be a single byte. relayed says that a relay has
// shown, fresh that something may begin with p: it follows a newline, or is not
// just cut off by its size from what came before.
func nextStart(p []byte, i int, relayed, fresh bool) int {
	first := len(p)
	for j := i; ; {
		k := bytes.Index(p[j:first], gcStart)
		if k < 0 {
			break
		}
		j += k + len(gcStart)
		i := j - len(gcStart)
		// Behind a relay text may cut the line off already here.
		if j == len(p) || isDigit(p[j]) || relayed && (i == 0 && fresh || i > 0 && p[i-1] == '\n') {
			first = i
			break
		}
	}
	for j := i; ; {
		k := bytes.Index(p[j:first], scvgStart)
		if k < 0 {
			break
		}
		j += k + len(scvgStart)
		if j == len(p) || p[j] == ':' || p[j] == '-' || isDigit(p[j]) {
			return j - len(scvgStart)
		}
	}
	if first < len(p) {
		return first
	}
	for _, start := range [][]byte{gcStart, scvgStart} {
		for n := min(len(start), len(p)-i); n > 0; n-- {
			if bytes.HasSuffix(p, start[:n]) {
				first = min(first, len(p)-n)
				break
			}
		}
	}
	return first
}

var gcStart, scvgStart = []byte("gc "), []byte("scvg")

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
