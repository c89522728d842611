// Package node keeps the account of the Go processes of a node, by container: what they
// used, what they have, and what of it could not be read.
//
// A [Node] has one goroutine that looks (Scan, Look, and the windows of package sampler);
// any other may ask for a [Snapshot]. What a process used is added to its container as it
// is seen, and stays when the process ends: counters never go backwards. A process is
// known by its number and the time that it started: the next one with that number is
// another. One that begins another program (exec) is another, too.
package node
