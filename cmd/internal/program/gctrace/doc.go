// Package gctrace reads what the Go runtime prints under GODEBUG=gctrace=1.
//
// [Parse] reads one line, in the formats of Go 1.9 to 1.26. [Filter] stands in a
// program's output: it takes the trace lines out, counts them, and passes every
// other byte on unchanged, in its order.
//
// The filter exists because the runtime does not print lines. It issues one
// write(2) for each constant and each number, about forty a line. Read
// through a pipe in packet mode (O_DIRECT) every read is one of those writes. That
// tells a line of the runtime from text that has its form: an old trace, or one that
// came by way of another process, is not in such pieces, and is text.
//
// Text may come within a line, as long as it is nothing that the runtime could have
// written as a piece of some line. Anything else ("12", "+", the line of another process)
// leaves open whose piece is whose: then all of it is passed on as it came, the line is
// not counted, and [Filter.Mixed] says so. Of a complete line only the newline can be the
// program's own, with the line's to follow; so what follows is held back for a moment, and
// where a bare newline shows up there that may be the line's, all is passed on, too. Two cases are left. A program may write "gc " by itself
// and the next pieces of a line behind it, while a line is disturbed. Or it ends an empty
// line by a write of its own just before the runtime's newline, and begins a line that it does
// not end. Then that newline and the text change places.
package gctrace
