// Package rounds is what a pod of a fleet trial runs: whole rounds, in which each setting
// runs once, in random order, one line of JSON about each on the log.
//
// Lines are also kept in a file beside the program. A container that is killed, as by the
// OOM killer, is started again by Kubernetes in the same pod: it says again what is in the
// file, finds which setting ran when it was killed, and goes on with the next round. So a
// kill costs one round. A setting that gets the container killed twice is left out.
package rounds
