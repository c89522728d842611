// Package lab holds experiments that show what pages, page faults and giving
// memory back cost on this machine.
//
// An [Experiment] is a table of arms and a function that does the work of one
// of them. [Run] has each arm run by folio itself, in a fresh process through
// the trial engine: the process calls [Work], which does the work and prints
// its figures as Go benchmark lines, which the engine collects.
//
// Some arms need a setting of the whole system (a [Change]): they run only when
// that is allowed, and the setting is put back after each trial. A second
// process, the guard (see [Guard]), puts it back should this one be killed.
package lab
