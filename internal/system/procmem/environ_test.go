package procmem

import (
	"slices"
	"strings"
	"testing"
)

func TestEnviron(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/7/environ", "PATH=/bin\x00GOGC=100=\x00EMPTY=\x00a title\x00\x00")
	env, err := New(root).Environ(7)
	if want := []string{"PATH=/bin", "GOGC=100=", "EMPTY="}; err != nil || !slices.Equal(env, want) {
		t.Errorf("Environ = %q, %v, want %q", env, err, want)
	}
	if _, err := New(root).Environ(8); err == nil {
		t.Error("no process, no error")
	}
}

func FuzzEnviron(f *testing.F) {
	f.Add([]byte("PATH=/bin\x00GOGC=off\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		env, err := parseEnviron(data)
		if err != nil {
			t.Error(err)
		}
		for _, pair := range env {
			if !strings.Contains(pair, "=") || strings.Contains(pair, "\x00") {
				t.Errorf("%q", pair)
			}
		}
	})
}
