// Package testenv is what tests share: programs that they build and processes that they
// start, waiting, and what a test does where the machine lacks what it needs.
package testenv

import (
	"fmt"
	"os"
	"testing"
)

// Missing skips the test, or fails it where nothing may be skipped: CI sets
// FOLIO_TEST_NOSKIP, so that a check is never lost unnoticed. What an ordinary user lacks
// there is tested again as root: see [AsRoot].
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	why := fmt.Sprintf(format, args...)
	if NoSkip() && !AsRoot(t.Name()) {
		t.Fatal("needed here: " + why)
	}
	t.Skip(why)
}

// NoSkip says whether tests fail where the machine lacks what they need.
func NoSkip() bool { return os.Getenv("FOLIO_TEST_NOSKIP") != "" }

// Root skips the test where it is not run by root, with what root is needed for.
func Root(t testing.TB, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "needs root, %s", why)
	}
}

// Full says whether tests do all of what takes long, such as every combination of
// versions and systems: cmd/bench/full sets FOLIO_TEST_FULL.
func Full() bool { return os.Getenv("FOLIO_TEST_FULL") != "" }

// FullOnly skips the test except where tests do all of what takes long: other tests find
// most of what this one does, and sooner.
func FullOnly(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("takes long: with FOLIO_TEST_FULL=1, as in cmd/bench/full")
	}
}

// Some returns how often a test that tries something at random does so: all in full
// tests, else a part, and with -short a fifth of that, at least once.
func Some(part, all int) int {
	switch {
	case Full():
		return all
	case testing.Short():
		return max(1, part/5)
	}
	return part
}

// Sampled skips all but every fourth case of a long list, i being its number, except in
// full tests.
func Sampled(t testing.TB, i int) {
	t.Helper()
	if i%4 != 0 {
		FullOnly(t)
	}
}

// Versions returns the toolchains that a test builds with: the first and the last of
// these, which are in order, or all of them in full tests, or with -short none. The
// standard library of each is compiled first.
func Versions(t testing.TB, all []string) []string {
	t.Helper()
	if Long(t); !Full() {
		return []string{all[0], all[len(all)-1]}
	}
	return all
}

// Long skips the test with -short: it takes seconds to find what is seldom broken.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}

// Alone skips the test with the race detector: it computes for seconds in one goroutine, of
// which the detector can find nothing.
func Alone(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("one goroutine that computes for long: nothing for the race detector")
	}
}
