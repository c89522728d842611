//go:build race

package goheap

// raceEnabled is set when the tests run with the race detector.
const raceEnabled = true
