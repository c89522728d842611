//go:build !race

package testenv

// Race is true in tests with the race detector, whose memory counts as the program's.
const Race = false
