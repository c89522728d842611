// Package trial measures programs from outside.
//
// A trial is one run of a command in a fresh process under one [Setting]; a
// [Sample] is what it measured. An [Arm] is a setting under comparison and a
// [Scheduler] runs arms in rounds: each arm once a round, in random order, so
// that a machine that slows down for a while slows all arms alike.
//
// [Program] is the runner that starts real processes. It owns the process tree
// of a trial: when Run returns, no process of it is left, whatever happened.
// The scheduler takes any [Runner], so that it is tested without timing.
package trial
