// Package gctrace reads what the Go runtime prints under GODEBUG=gctrace=1, in the formats of
// Go 1.9 to 1.27: [Parse] one line, and a [Counter] those of a stream. The runtime writes a line
// in some forty pieces, so that lines of two processes, or of one and other text, may mix: such
// lines are not counted, and the Counter says that there were more.
package gctrace
