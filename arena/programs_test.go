package arena

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if role := os.Getenv("ARENA_TEST_ROLE"); role != "" {
		os.Exit(roles[role]())
	}
	code := m.Run()
	if n := CheckDangling(); n > 0 && code == 0 {
		// In debug mode no test may be reported: all of them are clean.
		code = 1
	}
	os.Exit(code)
}

func TestRandomPrograms(t *testing.T) {
	n := 200
	if raceEnabled {
		n = 60
	}
	if err := randomPrograms(n, 1); err != nil {
		t.Fatal(err)
	}
}

// roles are what the test binary does instead of tests when a test runs it.
var roles = map[string]func() int{}
