package testenv

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// WriteProgram writes a program that a test is about to start. Where another test starts a
// process in between, that one has the file open for writing until its exec, and the kernel
// would not start the program (ETXTBSY): so no process is started meanwhile.
func WriteProgram(t testing.TB, file string, data []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(file, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

// WithoutBuildInfo returns a copy of a Go program without its build information, as some are shipped.
func WithoutBuildInfo(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	magic := []byte("\xff Go buildinf:")
	if !bytes.Contains(data, magic) {
		t.Fatalf("%s has no build information", path)
	}
	bare := filepath.Join(t.TempDir(), "bare")
	WriteProgram(t, bare, bytes.ReplaceAll(data, magic, make([]byte, len(magic))))
	return bare
}
