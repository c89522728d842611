package pin

import (
	"os"
	"slices"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{"child": child})
	os.Exit(m.Run())
}

// child pins itself to its last CPU, and fails if any thread is elsewhere.
func child() error {
	allowed, err := Allowed()
	if err != nil {
		return err
	}
	last := allowed[len(allowed)-1]
	if err := Process(last); err != nil {
		return err
	}
	done := make(chan error)
	for range 4 {
		go func() {
			now, err := Allowed()
			if err == nil && !slices.Equal(now, []int{last}) {
				err = os.ErrInvalid
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			return err
		}
	}
	return nil
}

// In a process of its own: the pin lasts.
func TestProcess(t *testing.T) { testenv.RunRole(t, "child") }

func TestProcessFails(t *testing.T) {
	if err := Process(1023); err == nil {
		t.Error("pinned to a CPU that does not exist")
	}
}
