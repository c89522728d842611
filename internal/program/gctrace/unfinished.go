package gctrace

import (
	"bytes"
	"slices"
	"time"
)

// A process that ends while it prints a line leaves the line unfinished. What is there
// of it is not text of the user's, and would run into what comes next: it is dropped,
// where it can be nothing else.
//
// Straight from the runtime, three fragments of a line, in a write each, are proof
// enough: "gc ", "7", " @". One or two are with the lines of the same process before, or
// as the last that there is of a program that was asked for the trace. Behind a relay, the
// line must go on from one that was complete: by its number, and its time.

// proof is how many fragments of a line, each in a write of its own, show that the
// runtime wrote them.
const proof = 3

// An ending is what one reading says of a line that is open at the end.
type ending struct {
	drop   bool // it is not text
	proven bool // by its fragments alone: what else there may be of it does not matter
	size   int
}

// ending judges line l, which is open in reading h.
func (f *Filter) ending(h *hyp, l *open) ending {
	e := ending{size: l.size}
	if !l.clean && f.relayed == 0 {
		return e
	}
	text, pieces := f.openText(h, l)
	b := parseBeginning(text)
	e.proven = l.clean && pieces >= proof
	if b.hasTime && f.opts.Elapsed != nil && b.at > f.opts.Elapsed()+tolerance {
		return e
	}
	before, follows := f.last[b.n-1]
	follows = follows && !(b.hasTime && b.at < before)
	switch {
	case e.proven:
		e.drop = true
	case l.clean:
		e.drop = (f.direct > 0 || f.isLast(h, l)) && bytes.HasPrefix(text, gcStart) && (!b.hasNumber || follows || b.n == 1)
	default:
		e.drop = b.hasAt && follows
	}
	return e
}

// isLast reports whether the first line of a program, as far as there is one, is the last
// of the stream.
func (f *Filter) isLast(h *hyp, l *open) bool {
	return f.ended && f.opts.Traced && h.tail.line == l.start && h.tail.end == f.base+int64(len(f.held))
}

// endings judges the lines that are open at the end, in all readings. A reading that has
// less of a line than another has no say where the other shows that it is text.
type endings struct {
	of     map[*open]ending
	proven map[int64]ending // the longest by fragments, by the start of the line
	whole  map[int64]ending // the longest in any form, but for what is behind an interruption
}

func (f *Filter) endings() endings {
	out := endings{make(map[*open]ending), make(map[int64]ending), make(map[int64]ending)}
	for _, h := range f.hyps {
		for i := range h.lines {
			l := &h.lines[i]
			e := f.ending(h, l)
			out.of[l] = e
			if e.proven && e.size > out.proven[l.start].size {
				out.proven[l.start] = e
			}
			resumed := l.breaks > 1 || l.breaks == 1 && !l.cut
			if !resumed && e.size > out.whole[l.start].size {
				out.whole[l.start] = e
			}
		}
	}
	return out
}

// drop reports whether an open line is to be dropped.
func (e endings) drop(l *open) bool {
	own := e.of[l]
	if most := e.proven[l.start]; most.proven && !most.drop {
		return false
	}
	if most := e.whole[l.start]; !own.proven && most.size > own.size && !most.drop {
		return false
	}
	return own.drop
}

// openText returns what there is of an open line, and in how many pieces.
func (f *Filter) openText(h *hyp, l *open) (text []byte, pieces int) {
	f.chain = f.chain[:0]
	for n := h.tail; n != nil && n.start >= l.start; n = n.prev {
		if n.line == l.start {
			f.chain = append(f.chain, n)
		}
	}
	f.text = f.text[:0]
	for _, n := range slices.Backward(f.chain) {
		f.text = append(f.text, f.held[n.start-f.base:n.end-f.base]...)
	}
	return f.text, len(f.chain)
}

// A beginning is what the first part of a line tells.
type beginning struct {
	n         int
	at        time.Duration
	hasNumber bool // all of it, or as much as there is
	hasAt     bool // and what follows it
	hasTime   bool
}

func parseBeginning(line []byte) (b beginning) {
	s := scanner{b: line}
	s.lit("gc ")
	n := s.uint(1<<31 - 1)
	if s.err != nil {
		return b
	}
	b.n, b.hasNumber = int(n), true
	if b.hasAt = s.has(" @"); b.hasAt {
		b.at = s.seconds()
		b.hasTime = s.err == nil
	}
	return b
}
