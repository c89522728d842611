package testenv

import (
	"os"
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
