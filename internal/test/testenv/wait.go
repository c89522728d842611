package testenv

import (
	"fmt"
	"testing"
	"time"
)

// Patience bounds waits for what must happen sooner or later. No test depends on when.
const Patience = 3 * time.Minute

// Within waits until ok, at most [Patience], and returns whether it came.
func Within(ok func() bool) bool {
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return ok()
}

// Await is Within for a role: the error says what did not come.
func Await(what string, ok func() bool) error {
	if !Within(ok) {
		return fmt.Errorf("not within %v: %s", Patience, what)
	}
	return nil
}

// Eventually waits until ok, and fails the test where that does not come.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if err := Await(what, ok); err != nil {
		t.Fatal(err)
	}
}
