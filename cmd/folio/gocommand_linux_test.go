package main

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

var kills = flag.Int("kills", 0, "how often TestGoCommandEnded ends each build (default 2, in full tests only)")

// compiling is a folio that builds, with the real go command, a program that takes a
// while to compile.
func compiling(t *testing.T, dir string, args ...string) *child {
	t.Helper()
	c := newChild(t, args...)
	c.dir, c.cmd.Dir = dir, dir
	tmp := filepath.Join(dir, "tmp")
	c.cmd.Env = append(append(c.cmd.Env, "HOME="+dir, "GOTMPDIR="+tmp, "TMPDIR="+tmp), goCaches()...)
	return c
}

// writeProgram writes a program that was not compiled before.
func writeProgram(t *testing.T, dir string) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "package main\n\nfunc main() { println(%d) }\n", rand.Int())
	for i := range 1500 {
		fmt.Fprintf(&text, "\nfunc F%d(m map[string]int, s []string) (n int) {\n\tfor i, x := range s {\n\t\tm[x] += i\n\t\tn += m[s[n%%len(s)]] * %[1]d\n\t}\n\treturn n\n}\n", i)
	}
	for name, text := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.24\n", "main.go": text.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGoCommandEnded: INT and TERM at any moment of a build leave no process and no file
// of go's. After KILL, which folio cannot answer, the compiler ends by itself, and the
// next folio removes what was left. More often:
//
//	go test ./cmd/folio -run TestGoCommandEnded -kills 50
func TestGoCommandEnded(t *testing.T) {
	if *kills == 0 {
		testenv.FullOnly(t)
	}
	t.Parallel()
	dir := t.TempDir()
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	writeProgram(t, dir)
	warm := compiling(t, dir, "build", "-o", "out", ".")
	warm.start()
	warm.end(0)
	writeProgram(t, dir)
	begin := time.Now()
	whole := compiling(t, dir, "build", "-o", "out", ".")
	whole.start()
	whole.end(0)
	long := time.Since(begin)
	for _, command := range []string{"build -o out .", "run --build .", "go test -count=1 .", "go run .", "tune --rounds 1 --build .", "tune --rounds 1 --goexperiment arenas --build ."} {
		for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGKILL} {
			t.Run(command+" "+unix.SignalName(sig), func(t *testing.T) {
				left := 0
				for range cmp.Or(*kills, 2) {
					writeProgram(t, dir)
					c := compiling(t, dir, strings.Fields(command)...)
					c.start()
					time.Sleep(rand.N(long))
					_ = c.cmd.Process.Signal(sig) // it may have ended before
					_ = c.cmd.Wait()
					if sig != unix.SIGKILL {
						c.noProcesses()
					} else {
						if !testenv.Within(func() bool { return len(processesWith(c.mark)) == 0 }) {
							t.Fatalf("processes left: %q", processesWith(c.mark))
						}
						if found, _ := filepath.Glob(filepath.Join(tmp, "*")); len(found) > 0 {
							left++
						}
						next := compiling(t, dir, "run", "--sample-rate", "0", "--", "true")
						next.start()
						next.end(0)
					}
					if found, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(found) > 0 {
						t.Fatalf("left after %v: %q, %v", sig, found, err)
					}
				}
				if sig == unix.SIGKILL {
					t.Logf("%d of %d kills left something, which the next folio removed", left, cmp.Or(*kills, 2))
				}
			})
		}
	}
}
