package gctrace

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

func pipe(t *testing.T, flags int) (r, w *os.File) {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe2(fds[:], flags|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
}

// runChild runs the child with its stderr on w, which it closes, and filters what arrives at r.
// It returns the result, the child's text and its number of GC cycles.
func runChild(t *testing.T, r, w *os.File) (res *result, text string, cycles int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cycles")
	cmd := exec.Command(testenv.Build{Dir: "testdata/child"}.Do(t), file)
	cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1", "GOGC=100")
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, w
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	res = newResult(Options{Elapsed: func() time.Duration { return time.Since(start) }})
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			res.filter.Write(buf[:n])
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	res.filter.Flush()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if cycles, err = strconv.Atoi(string(data)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d collections, %d bytes of text", cycles, res.out.Len())
	return res, stdout.String(), cycles
}

// firstDifference shows where two texts part, rather than all of both.
func firstDifference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	at := func(s string) string { return s[max(0, i-60):min(len(s), i+120)] }
	return fmt.Sprintf("at byte %d:\n got %q\nwant %q", i, at(got), at(want))
}

func TestRealProgram(t *testing.T) {
	r, w := pipe(t, unix.O_DIRECT)
	res, text, cycles := runChild(t, r, w)
	if res.out.String() != text {
		t.Errorf("text differs %s", firstDifference(res.out.String(), text))
	}
	if len(res.cycles) != cycles {
		t.Errorf("got %d cycles, the program counted %d", len(res.cycles), cycles)
	}
	for i, c := range res.cycles {
		if c.N != i+1 {
			t.Fatalf("cycle %d has number %d", i+1, c.N)
		}
	}
}
