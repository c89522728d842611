package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// builder is folio with a go command that builds nothing: it leaves a program of the
// tests where it should build one, or sleeps for an hour.
func builder(t *testing.T, build string, args ...string) *child {
	t.Helper()
	c := newChild(t, args...)
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	prog, err := exec.LookPath("gcprog")
	if err != nil {
		t.Fatal(err)
	}
	// -o, the directory, and the package are its last arguments.
	script := `#!/bin/sh
case $1 in build) ;; *) exec '` + goTool + `' "$@" ;; esac
while [ "$1" != -o ]; do shift; done
touch "$GOTMPDIR/object"
prog='` + prog + `'
` + build + "\n"
	bin := filepath.Join(c.dir, "bin")
	tmp := filepath.Join(c.dir, "tmp")
	for _, dir := range []string{bin, tmp} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	testenv.WriteProgram(t, filepath.Join(bin, "go"), []byte(script))
	c.cmd.Env[0] = "PATH=" + bin + ":" + os.Getenv("PATH")
	c.cmd.Env = append(c.cmd.Env, "GOTMPDIR="+tmp, "XDG_CACHE_HOME="+filepath.Join(c.dir, "cache"), "HOME="+c.dir)
	return c
}

const copies = `cp "$prog" "$2/gcprog"`

// clean checks that nothing is left of what was built.
func (c *child) clean() {
	c.t.Helper()
	left, err := os.ReadDir(c.path("tmp"))
	if err != nil || len(left) > 0 {
		c.t.Errorf("left of the build: %v, %v", left, err)
	}
}

// A signal ends the build, with all that it started, and nothing is left.
func TestBuildInterrupted(t *testing.T) {
	for _, command := range []string{"run", "tune"} {
		for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM} {
			t.Run(command+" "+unix.SignalName(sig), func(t *testing.T) {
				t.Parallel()
				c := builder(t, `sleep 3600 & echo >>runs; wait; touch "$GOTMPDIR/late"`, command, "--json", "f.json",
					"--build", "./x", "--", "-touch", "never")
				c.start()
				c.awaitRuns(1)
				c.signal(sig)
				c.end(130)
				c.clean()
				if got := c.stderr.String(); got != "folio: interrupted before anything was measured\n" {
					t.Errorf("standard error %q", got)
				}
				for _, name := range []string{"never", "f.json"} {
					if _, err := os.Stat(c.path(name)); err == nil {
						t.Errorf("there is a file %s", name)
					}
				}
			})
		}
	}
}

// The program is gone with folio, however folio ends.
func TestBuiltIsGone(t *testing.T) {
	for _, tt := range []struct {
		name    string
		build   string
		args    []string
		signals []syscall.Signal
		code    int
	}{
		{"run", copies, []string{"run", "--build", "./x", "--", "-touch", "runs"}, nil, 0},
		{"run, failed", copies, []string{"run", "--build", "./x", "--", "-touch", "runs", "-exit", "3"}, nil, 3},
		{"run, interrupted", copies, []string{"run", "--build", "./x", "--", "-touch", "runs", "-catch", "-sleep",
			"1h"}, []syscall.Signal{unix.SIGINT}, 9},
		{"run, twice", copies, []string{"run", "--build", "./x", "--", "-touch", "runs", "-ignore", "-sleep", "1h"},
			[]syscall.Signal{unix.SIGINT, unix.SIGTERM}, 137},
		{"runs, interrupted", copies, []string{"run", "--count", "3", "--build", "./x", "--", "-touch", "runs",
			"-sleep", "1h"}, []syscall.Signal{unix.SIGTERM}, 130},
		{"tune, interrupted", copies, []string{"tune", "--build", "./x", "--", "-touch", "runs", "-sleep", "1h"},
			[]syscall.Signal{unix.SIGTERM}, 130},
		{"tune, twice", copies, []string{"tune", "--build", "./x", "--", "-touch", "runs", "-ignore", "-sleep", "1h"},
			[]syscall.Signal{unix.SIGINT, unix.SIGTERM}, 130},
		{"no program", "echo >>runs", []string{"run", "--build", "./x"}, nil, 1},
		{"not built", "echo >>runs; echo ./x/x.go:3: wrong >&2; exit 1", []string{"tune", "--build", "./x"}, nil, 1},
		{"killed", "echo >>runs; kill -9 $$", []string{"tune", "--build", "./x"}, nil, 1},
		{"no room", `echo >>runs; rm -r "$2"`, []string{"run", "--build", "./x"}, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := builder(t, tt.build, tt.args...)
			c.start()
			c.awaitRuns(1)
			for _, sig := range tt.signals {
				c.signal(sig)
			}
			c.end(tt.code)
			c.clean()
			if tt.code == 1 && strings.Count("\n"+c.stderr.String(), "\nfolio: --build ./x: ") != 1 {
				t.Errorf("standard error %q", &c.stderr)
			}
		})
	}
}

// Whoever waits for a minute must know what for.
func TestBuildProgress(t *testing.T) {
	t.Parallel()
	p := newPTY(t)
	c := builder(t, copies, "run", "--build", "./x", "--json", "f.json")
	p.attach(c)
	c.cmd.Stderr = p.tty
	p.start(c)
	c.end(0)
	<-p.done
	before, after, ok := strings.Cut(p.text(), "building ./x with heap-hugepages")
	if !ok || strings.TrimSpace(before) != "" || !strings.Contains(after, "\r\x1b[K$ folio run --build ./x --thp=heap\r\n") {
		t.Errorf("on the terminal: %q", p.text())
	}
}
