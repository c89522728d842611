// Package live measures a process that runs already, under its own load, in blocks: each has one
// setting of the GC, set from outside. It is the runner of a search of package tune, which
// alternates settings in random order and compares them within rounds, so that a load that
// changes with the hour favours none.
//
// A block counts from the end of a GC cycle that began under its setting to the end of another, so
// that no part of a cycle is charged to a setting without the rest. What is compared is CPU time
// for each GiB allocated, or for each request where these are counted.
//
// A setting that breaks a guardrail, such as a memory limit, is left at once. The settings from
// before are restored at the end, by the guard of package livegc if this process is killed.
package live
