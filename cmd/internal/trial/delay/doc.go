// Package delay says what delays the slow requests of a server: GC cycles, the CPU quota,
// page faults, or none of these. It is given when requests were in flight, and when what
// may delay them was; [Of] counts one run, [Merge] judges several. It measures nothing.
//
// That slow requests overlap a GC cycle proves nothing: where GC cycles take 30% of the
// time, many requests do, and long ones more often than short ones. So each share is told
// beside that of all requests, and judged against chance: the same slow requests, at other
// times. Requests that are slow together are moved together, because they are one event,
// and each within a few seconds, so that a busy phase of the run stays one. A cause is
// found if chance reaches its share in at most one of a hundred draws, and the share
// exceeds what chance expects by ten points or more.
//
// This tells what happens at the same time. What delays requests at all times alike, such
// as a GC that always runs, cannot be seen so.
package delay
