//go:build race

package arena

// raceEnabled is set when the tests run with the race detector.
const raceEnabled = true
