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

func buildChild(t *testing.T) string {
	t.Helper()
	return testenv.Build{Dir: "testdata/child"}.Do(t)
}

func pipe(t *testing.T, flags int) (r, w *os.File) {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe2(fds[:], flags|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
}

// runChildren runs n children with their stderr on w, which it closes, and
// filters what arrives at r. It returns the result and, for each child, its
// text and its number of GC cycles.
func runChildren(t *testing.T, n int, mode string, r, w *os.File) (res *result, texts []string, cycles int) {
	t.Helper()
	exe, dir := buildChild(t), t.TempDir()
	stdout := make([]bytes.Buffer, n)
	var cmds []*exec.Cmd
	start := time.Now()
	for i := range n {
		cmd := exec.Command(exe, mode, string(rune('A'+i)), filepath.Join(dir, strconv.Itoa(i)))
		cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1", "GOGC=100")
		cmd.Stdout, cmd.Stderr = &stdout[i], w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
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
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, stdout[i].String())
		data, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		k, err := strconv.Atoi(string(data))
		if err != nil {
			t.Fatal(err)
		}
		cycles += k
	}
	t.Logf("%d collections, %d bytes of text", cycles, res.out.Len())
	return res, texts, cycles
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
	res, texts, cycles := runChildren(t, 1, "plain", r, w)
	if res.out.String() != texts[0] {
		t.Errorf("text differs %s", firstDifference(res.out.String(), texts[0]))
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
