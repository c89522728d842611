package gctrace

import (
	"bytes"
	"slices"
)

// A stretch of held bytes can be read in several ways: a packet "5" may be the
// next number of one line, of another, or text. The filter follows the cheapest
// few readings (a beam search) until one without an incomplete line wins.
//
// The costs weigh two explanations of a line against each other. Coming straight
// from the runtime, its pieces are exactly the fragments that the runtime writes,
// and being interrupted between any two of them is nothing special. Coming
// through a relay, it is cut anywhere, mostly not at fragments, and interruptions
// are rare. And whatever is not part of a line is text, which costs by the byte.
const (
	foreignByte     = 4   // a byte of text
	fragmentText    = 16  // a fragment not taken by any line, though some are open
	firstBreak      = 32  // first interruption of a relayed line: 8 bytes of text
	directBreak     = 128 // the same where lines have been coming in fragments all along
	tailBreak       = 6   // the same where it is also the end of a packet
	nextBreak       = 6   // each further one
	textBreak       = 2   // a line that begins behind a relay within a line of text
	cleanBreak      = 1   // an interruption of a line that came in fragments
	cleanPiece      = 1   // a relayed line having a piece that is just a fragment
	ageing          = 4   // an interrupted relayed line not going on, a packet
	relayAgeing     = 1   // the same where a relay has shown
	relayPatience   = 32  // behind a relay: how far open lines may lag and still be waited for
	cleanPatience   = 32  // packets after which each open line that came in fragments costs 1
	cleanMargin     = 32  // readings dearer than the best by more are dropped
	relayMargin     = 96  // the same where a relay shows
	maxHypotheses   = 256
	maxOpen         = 64
	maxWork         = 2048 // open lines in all readings together
	none            = -1
	ambiguityMargin = 16 // how far the best has to lead to be decided for early
)

// node is a piece of a line, linked to the piece before it in the same reading
// (of whichever line). Bytes between the pieces are text.
type node struct {
	prev       *node
	line       int64 // offset of the line's first byte, which names the line
	start, end int64
	done       bool   // completes the line
	clean      bool   // all pieces of the completed line were fragments
	cycle      *Cycle // of a completed line, nil for the scavenger's
}

// open is an incomplete line.
type open struct {
	start  int64
	size   int
	breaks int // interruptions
	frags  int // pieces that are just a fragment, longer than a byte
	state  state
	clean  bool // all pieces so far are fragments
	cut    bool // interrupted since its last piece
	joined bool // all pieces so far are fragments, or digits that came behind a number
}

// hyp is one reading of the held bytes up to pos.
type hyp struct {
	tail  *node
	lines []open // the one that went on last is last
	cost  int
	pos   int  // in the segment
	last  bool // the byte before pos belongs to the last of lines
	seam  bool // an interrupted line may go on at pos
}

func (f *Filter) clone(h *hyp) *hyp {
	var c *hyp
	if n := len(f.spare); n > 0 {
		c, f.spare = f.spare[n-1], f.spare[:n-1]
	} else {
		c = new(hyp)
	}
	l := append(c.lines[:0], h.lines...)
	*c = *h
	c.lines = l
	return c
}

func (f *Filter) discard(h *hyp) {
	h.tail = nil
	f.spare = append(f.spare, h)
}

// interrupt accounts for something else than the last line going on at pos.
func (f *Filter) interrupt(h *hyp) {
	if !h.last {
		return
	}
	h.last = false
	l := &h.lines[len(h.lines)-1]
	if !lines.info[l.state].edge {
		// No writer stops within a fragment: this is not a line.
		h.abandon(len(h.lines) - 1)
		return
	}
	l.cut = true
	l.breaks++
	switch {
	case l.clean:
		h.cost += cleanBreak
	case h.pos == 0 && !f.full:
		h.cost += tailBreak
	case l.breaks == 1:
		h.cost += f.firstBreak()
	default:
		h.cost += nextBreak
	}
}

func (f *Filter) firstBreak() int {
	if f.direct >= directAfter {
		return directBreak
	}
	return firstBreak
}

// abandon makes line i text.
func (h *hyp) abandon(i int) {
	h.cost += foreignByte * h.lines[i].size
	h.forget(i)
}

// forget waits for line i no more.
func (h *hyp) forget(i int) {
	if i == len(h.lines)-1 {
		h.last = false
	}
	h.lines = slices.Delete(h.lines, i, i+1)
}

// search extends all readings by p, which follows them in held. whole says that
// p is all that one Write brought, so that it may be a packet.
func (f *Filter) search(p []byte, whole bool) {
	off := f.base + int64(len(f.held)-len(p))
	f.starts = f.starts[:0]
	for i := f.nextStart(p, 0); i < len(p); i = f.nextStart(p, i+1) {
		f.starts = append(f.starts, i)
	}
	f.queue = append(f.queue[:0], f.hyps...)
	if len(f.queue) == 0 {
		f.queue = append(f.queue, f.clone(&hyp{}))
	}
	for _, h := range f.queue {
		// Behind a relay nothing begins where only its size cut a text.
		h.pos, h.seam = 0, h.seam || !f.full || f.relayed == 0
	}
	s := segment{f: f, p: p, off: off, whole: whole}
	s.fragment = whole && len(f.hyps) > 0 && f.relayed == 0 && f.direct >= directAfter && isFragment(p)
	for {
		// Take the readings that are least far. Nothing later can lead to
		// their place, so they can be compared now.
		pos := len(p)
		for _, h := range f.queue {
			pos = min(pos, h.pos)
		}
		f.group = f.group[:0]
		rest := f.queue[:0]
		for _, h := range f.queue {
			if h.pos == pos {
				f.group = append(f.group, h)
			} else {
				rest = append(rest, h)
			}
		}
		f.queue = rest
		f.prune()
		if pos == len(p) {
			break
		}
		for _, h := range f.group {
			s.expand(h)
		}
	}
	age := ageing
	if f.relayed > 0 {
		age = relayAgeing
	}
	// A line in fragments may wait long while others print. But a reading in which one waits
	// for ever must not stay: it would hold back all that comes.
	f.packets++
	late := f.packets%cleanPatience == 0
	for _, h := range f.group {
		for i := range h.lines {
			switch l := &h.lines[i]; {
			case l.cut && !l.clean:
				h.cost += age
			case l.cut && late:
				h.cost++
			}
		}
	}
	f.hyps, f.group = f.best(f.group), f.hyps[:0]
}

// segment is a part of the input being searched.
type segment struct {
	f     *Filter
	p     []byte
	off   int64 // of p[0]
	whole bool
	// fragment: the packet is just what the runtime writes at once. Where no
	// relay is, it is hardly ever text.
	fragment bool
}

// expand queues every way to go on with h, and consumes h.
func (s *segment) expand(h *hyp) {
	// certain: one of the ways is so good that the others are not tried.
	certain := false
	if _, ok := slices.BinarySearch(s.f.starts, h.pos); ok && len(h.lines) < maxOpen &&
		!slices.Contains(s.f.dead, s.off+int64(h.pos)) {
		l := open{start: s.off + int64(h.pos), state: stateStart, clean: true}
		cost := h.cost
		if s.f.relayed > 0 && !h.seam && h.pos > 0 {
			h.cost += textBreak // in the readings in which a line begins
		}
		certain = s.extend(h, none, l)
		h.cost = cost
	}
	if h.seam && !certain {
		i := len(h.lines) - 1
		if h.last && h.pos > 0 {
			i-- // it has had all it could
		}
		for ; i >= 0; i-- {
			if l := h.lines[i]; !alike(h.lines[i+1:], l) && s.extend(h, i, l) {
				certain = true
			}
		}
	}
	if certain {
		s.f.discard(h)
		return
	}
	s.f.interrupt(h)
	next := s.next(h)
	h.cost += foreignByte * (next - h.pos)
	if s.fragment && len(h.lines) > 0 {
		h.cost += fragmentText
	}
	h.pos = next
	h.seam = s.p[next-1] == '\n'
	s.f.queue = append(s.f.queue, h)
}

// alike reports whether one of lines is as good a continuation as l. Then the
// more recent one is taken: processes print their fragments in quick succession.
func alike(lines []open, l open) bool {
	for i := range lines {
		if m := &lines[i]; m.state == l.state && m.clean == l.clean && m.cut == l.cut {
			return true
		}
	}
	return false
}

// next returns where the text at h.pos may end.
func (s *segment) next(h *hyp) int {
	end := len(s.p)
	if i, _ := slices.BinarySearch(s.f.starts, h.pos+1); i < len(s.f.starts) {
		end = s.f.starts[i]
	}
	if len(h.lines) == 0 {
		return end
	}
	for q := h.pos; ; {
		i := bytes.IndexByte(s.p[q:end], '\n')
		q += i + 1
		if i < 0 || q == end {
			return end
		}
		for i := range h.lines {
			if l := &h.lines[i]; l.resumes(s.p[q]) {
				return q
			}
		}
	}
}

// resumes reports whether the line can go on with c. A number that something
// else followed is complete.
func (l *open) resumes(c byte) bool {
	to := lines.step(l.state, c)
	return to != stateNone && !(l.cut && lines.info[l.state].num && lines.info[to].num)
}

// extend queues the readings in which line l, which is line i of h or a new
// one, has as much of the bytes at h.pos as it can. It reports whether there is no
// point in looking for others.
func (s *segment) extend(h *hyp, i int, l open) (certain bool) {
	if !l.resumes(s.p[h.pos]) {
		return false
	}
	from, st := h.pos, l.state
	first := lines.step(st, s.p[from])
	joins := lines.info[st].num && lines.info[first].num // goes on within a number
	atEdge := (lines.info[st].edge || st == stateStart) && !joins
	frag := lines.info[first].frag
	oneFrag := true
	end := from
	edge, before := stop{from, st}, stop{from, st} // the last two edges
	var n digits
	for end < len(s.p) {
		to := lines.step(st, s.p[end])
		if to == stateNone || !n.fit(to) {
			break
		}
		st = to
		end++
		info := &lines.info[st]
		oneFrag = oneFrag && info.frag == frag
		if info.edge {
			if !info.num || lines.info[edge.state].frag != info.frag {
				before = edge
			}
			edge = stop{end, st}
		}
		if info.done {
			break
		}
	}
	info := &lines.info[st]
	clean := s.whole && from == 0 && end == len(s.p) && atEdge && oneFrag && info.edge
	switch {
	case info.done:
		c := s.advance(h, i, l, end, st, clean)
		whole := l.size == 0
		if !s.complete(c) {
			s.f.discard(c)
			return false
		}
		s.f.queue = append(s.f.queue, c)
		return whole || clean
	case end == len(s.p):
		s.f.queue = append(s.f.queue, s.advance(h, i, l, end, st, clean))
		// A fragment that is not a number is not a coincidence, and if it is, then
		// the program's bytes are the same as the runtime's.
		if clean && !info.num {
			return true
		}
	}
	// Or it is interrupted before. Its last number may be that of another line.
	if edge.end > from && edge.end < len(s.p) {
		s.f.queue = append(s.f.queue, s.advance(h, i, l, edge.end, edge.state, false))
	}
	if lines.info[edge.state].num && before.end > from {
		s.f.queue = append(s.f.queue, s.advance(h, i, l, before.end, before.state, false))
	}
	return false
}

// stop is a place where a line may be interrupted.
type stop struct {
	end   int
	state state
}

// advance returns h with line l having the bytes up to end.
func (s *segment) advance(h *hyp, i int, l open, end int, st state, clean bool) *hyp {
	c := s.f.clone(h)
	if !(i != none && c.last && i == len(c.lines)-1) {
		s.f.interrupt(c) // may only drop the last line, which is not l
	}
	if i != none {
		c.lines = slices.Delete(c.lines, i, i+1)
	}
	size := end - c.pos
	if l.joined = (l.clean || l.joined) && (clean || s.whole && c.pos == 0 && addsDigits(l.state, s.p[:end])); l.joined && !clean {
		c.cost += foreignByte * size
	}
	switch {
	case clean && size > 1 && l.clean:
		l.frags++
	case clean && size > 1:
		c.cost += cleanPiece
	case !clean && l.clean:
		// What passed as fragments before was a relay's cut after all.
		l.clean = false
		c.cost += cleanPiece * l.frags
		if l.breaks > 0 {
			c.cost += s.f.firstBreak() - cleanBreak + (l.breaks-1)*(nextBreak-cleanBreak)
		}
	}
	l.size += size
	l.state = st
	l.cut = false
	c.lines = append(c.lines, l)
	start := s.off + int64(c.pos)
	c.tail = &node{prev: c.tail, line: l.start, start: start, end: s.off + int64(end)}
	c.pos = end
	c.last = true
	c.seam = true
	return c
}

// addsDigits reports whether a piece p has but digits, for the number that a line in state st
// ends in. A relay that passes whole writes on does not stop within a number, so where
// nothing else shows one, they are as likely text.
func addsDigits(st state, p []byte) bool {
	for _, c := range p {
		to := lines.step(st, c)
		if !lines.info[st].num || !lines.info[to].num {
			return false
		}
		st = to
	}
	return true
}

// complete closes the line that c has just advanced. It reports false if the
// line turns out not to be one of this run; then it is none in any reading.
func (s *segment) complete(c *hyp) bool {
	l := c.lines[len(c.lines)-1]
	c.tail.done = true
	c.tail.clean = l.clean
	if !lines.info[l.state].scavenger {
		cycle, ok := s.f.cycle(s.f.lineText(c.tail))
		if !ok {
			s.f.dead = append(s.f.dead, l.start)
			return false
		}
		c.tail.cycle = &cycle
	}
	c.lines = c.lines[:len(c.lines)-1]
	c.last = false
	return true
}

// cycle parses a complete line. ok is false if it is not one of this run.
func (f *Filter) cycle(text []byte) (c Cycle, ok bool) {
	c, err := Parse(text)
	return c, err == nil && (f.opts.Elapsed == nil || c.At <= f.opts.Elapsed()+tolerance)
}

// lineText returns the bytes of the line that n completes.
func (f *Filter) lineText(n *node) []byte {
	f.chain = f.chain[:0]
	for m := n; m != nil && m.start >= n.line; m = m.prev {
		if m.line == n.line {
			f.chain = append(f.chain, m)
		}
	}
	f.text = f.text[:0]
	for _, m := range slices.Backward(f.chain) {
		f.text = append(f.text, f.held[m.start-f.base:m.end-f.base]...)
	}
	return f.text
}
