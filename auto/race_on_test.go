//go:build race

package auto

// raceEnabled is set when the tests run with the race detector.
const raceEnabled = true
