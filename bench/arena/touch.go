package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/foliomem/folio/internal/procmem"
)

// The host of a virtual machine gives it memory as it is first touched, and may
// take back what is free. Whoever touches such a page first waits several times
// as long as for an ordinary page fault, which has nothing to do with the arm that
// happens to. So every round begins with a process that touches memory.

// touchBytes is how much: more than most arms use, a quarter of what is available
// at most.
func touchBytes() uint64 {
	const most = 4 << 30
	m, err := procmem.New("").Meminfo()
	if err != nil || m.MemAvailable == nil {
		return 0
	}
	return min(most, *m.MemAvailable/4)
}

// touch has a process of its own do it: this one must stay smaller than the arms,
// or the kernel's peak of theirs would be its own.
func touch() error {
	n := touchBytes()
	if n == 0 {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-touch", strconv.FormatUint(n, 10))
	cmd.Env = clean()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("touch memory: %w: %s", err, out)
	}
	return nil
}

// touched writes to every page of n bytes.
func touched(n int) {
	b := make([]byte, n)
	for i := 0; i < n; i += os.Getpagesize() {
		b[i] = 1
	}
}
