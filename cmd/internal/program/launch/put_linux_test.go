//go:build linux && (amd64 || arm64)

package launch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPutWritesAnywhere writes edits of all lengths at all places around the
// end of a page of a stopped process's code, and nothing beside them.
func TestPutWritesAnywhere(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := Prepare(self(t))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := syscall.ForkExec(p.Path, []string{"prog", "role:status"},
		&syscall.ProcAttr{Env: []string{isChild + "=1"}, Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		t.Fatal(err)
	}
	var ws unix.WaitStatus
	defer func() {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, &ws, unix.WALL, nil)
	}()
	if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil || !ws.Stopped() {
		t.Fatalf("%v, %v", ws, err)
	}
	proc, err := unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(proc)
	j, err := p.job(proc)
	if err != nil || !j.locate() {
		t.Fatalf("%v, bias %#x", err, j.bias)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	end := (p.Patch.Proof.MapOS.Address+j.bias)&^4095 + 4096
	const around = 32
	read := func() []byte {
		b := make([]byte, 2*around)
		if _, err := mem.ReadAt(b, int64(end-around)); err != nil {
			t.Fatal(err)
		}
		return b
	}
	want := read()
	for at := end - 16; at < end+16; at++ {
		for n := 1; n <= 8; n++ {
			var b [8]byte
			for i := range b {
				b[i] = byte(rand.Uint32())
			}
			copy(want[at-(end-around):], b[:n])
			if !j.put(pid, at, &b, n) || !j.has(pid, at, &b[0], n) {
				t.Fatalf("%d bytes at %#x: errno %v", n, at, j.errno)
			}
			if got := read(); !bytes.Equal(got, want) {
				t.Fatalf("%d bytes at the end of a page %+d:\n got %x\nwant %x", n, int64(at-end), got, want)
			}
		}
	}
	if j.put(pid, 0x10, &[8]byte{}, 4) || j.errno != unix.EIO && j.errno != unix.EFAULT {
		t.Errorf("written to nowhere: %v", j.errno)
	}
}
