// Package gctrace reads what the Go runtime prints under GODEBUG=gctrace=1.
//
// [Parse] reads one line, in the formats of Go 1.9 to 1.26. [Filter] stands in a
// program's output: it takes the trace lines out, counts them, and passes every
// other byte on unchanged.
//
// The filter exists because the runtime does not print lines. It issues one
// write(2) for each constant and each number, about forty a line, so the lines
// of several processes, and the text of the program itself, arrive mixed. Read
// through a pipe in packet mode (O_DIRECT) every read is one of those writes;
// behind a relay such as cat the boundaries are lost. The filter handles both.
//
// # What cannot be told apart
//
// Text is never lost, duplicated or invented, but a few inputs have more than
// one reading. The filter then takes the reading that leaves the fewest bytes
// as text and switches least between lines:
//
//   - The program writes a fragment that a line is waiting for at that moment:
//     a bare number, "+", a bare newline. The bytes taken for the line may then be
//     the program's and the line's own be passed on in their place.
//   - Two processes wait for the same kind of number. Both lines are taken out
//     and counted, but a number may be attributed to the wrong one. Their sums
//     are right.
//   - The program prints a line in exactly the runtime's form. It is counted
//     as one, unless its time lies in the future (see [Options.Elapsed]).
//   - Behind a relay, text that does not end in a newline and interrupts a
//     line ends where the next newline or the next trace line begins.
//   - Behind a relay, a line that is interrupted right after "gc " or "gc 12", or by
//     lines of other processes again and again, may stay in the text, uncounted. So
//     may one that the program's own text precedes with the beginning of a line.
package gctrace
