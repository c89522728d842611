// Package input opens and reads what others wrote: files of other users and of other
// processes, results, profiles. Opening waits for nothing and touches no device, and
// what is read stays within bounds that are stated in one place.
package input
