package procmem

import (
	"testing"
	"time"
)

func TestStolen(t *testing.T) {
	root := t.TempDir()
	for text, want := range map[string]time.Duration{
		"cpu  3399459 745672 1228256 2172450 27773 0 35836 13587 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n": 135870 * time.Millisecond,
		"cpu 1 2 3 4 5 6 7 0\n":         0,
		"":                              -1,
		"cpu 1 2 3 4\n":                 -1, // Linux before 2.6.11
		"intr 1 2 3 4 5 6 7 8 9\n":      -1,
		"cpu 1 2 3 4 5 6 7 -8 0 0\n":    -1,
		"cpu 1 2 3 4 5 6 7 eight 0 0\n": -1,
	} {
		write(t, root, "proc/stat", text)
		got, err := New(root).Stolen()
		if want < 0 && err == nil || want >= 0 && (err != nil || got != want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
