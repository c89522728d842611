// Package testenv says what a test does where the machine lacks what it needs.
package testenv

import (
	"os"
	"testing"
)

// Missing skips the test, or fails it where nothing may be skipped: CI sets
// FOLIO_TEST_NOSKIP, so that a check is never lost unnoticed.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("FOLIO_TEST_NOSKIP") != "" {
		t.Fatalf("needed here: "+format, args...)
	}
	t.Skipf(format, args...)
}

// Full says whether tests do all of what takes long, such as all combinations of
// versions and systems: CI sets FOLIO_TEST_FULL.
func Full() bool { return os.Getenv("FOLIO_TEST_FULL") != "" }
