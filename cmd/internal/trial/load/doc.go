// Package load puts an open-loop load on a server: requests start at times that were
// fixed beforehand, whatever the server does, and the latency of each counts from the
// time at which it was to start. A server that stalls is seen to stall, also by the
// requests that came while it did; a closed loop, which waits for an answer before it
// sends the next request, would send none of those (coordinated omission).
//
// [Run] measures, [Merge] puts several runs together. Every request that was intended
// is counted: what was not sent, not answered in time, or answered with an error ranks
// above every answer in all percentiles.
package load
