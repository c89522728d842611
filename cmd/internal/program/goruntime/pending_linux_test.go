package goruntime

import (
	"go/version"
	"os/exec"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// stuckSource is a program with 300 finalizers and, from Go 1.24 on, 500 cleanups that wait,
// all of them for ever, once it has read a line.
func stuckSource() map[string]string {
	out := testenv.Module(`package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"time"
)

type object struct {
	next *object
	data [64]byte
}

func stuck(*object) { select {} }

var cleanups = func() {}

func main() {
	in := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	in.ReadString('\n')
	done := make(chan bool)
	go func() {
		for i := 0; i < 300; i++ {
			runtime.SetFinalizer(&object{}, stuck)
		}
		cleanups()
		done <- true
	}()
	<-done
	time.Sleep(10 * time.Millisecond)
	for i := 0; i < 3; i++ {
		runtime.GC()
	}
	fmt.Println("done")
	in.ReadString('\n')
}
`)
	out["cleanup.go"] = `//go:build go1.24

package main

import "runtime"

func init() {
	cleanups = func() {
		for i := 0; i < 500; i++ {
			runtime.AddCleanup(&object{}, func(int) { select {} }, i)
		}
	}
}
`
	return out
}

// TestPending counts finalizers and cleanups that wait.
func TestPending(t *testing.T) {
	testenv.EveryBuild(t, releases, stuckSource(), func(t *testing.T, path string) {
		cmd := exec.Command(path)
		cmd.Env = append(cmd.Environ(), "GOGC=off")
		in, out := testenv.Start(t, cmd)
		defer func() { _ = cmd.Wait() }()
		defer in.Close()
		say := func(want string) {
			t.Helper()
			if line, err := out.ReadString('\n'); err != nil || strings.TrimSpace(line) != want {
				t.Fatalf("%q, %v", line, err)
			}
		}
		say("ready")
		target, err := Attach(procmem.FS{}, cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		release := version.Lang(target.Version())
		queue := version.Compare(release, "go1.25") >= 0
		before, err := target.Pending()
		if err != nil || before.Finalizers != 0 || len(before.Functions) != 0 || (before.Cleanups != nil) != queue || queue && *before.Cleanups != 0 {
			t.Errorf("before: %s, %v", testenv.Dump(before), err)
		}
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		say("done")
		p, err := target.Pending()
		if err != nil {
			t.Fatal(err)
		}
		finalizers, cleanups := uint64(300), uint64(500)
		if release == "go1.24" {
			finalizers += cleanups
		}
		if p.Finalizers != finalizers || (p.Cleanups != nil) != queue || queue && *p.Cleanups != cleanups {
			t.Errorf("%d finalizers, %s cleanups; want %d and %d", p.Finalizers, testenv.Dump(p.Cleanups), finalizers, cleanups)
		}
		found := uint64(0)
		for _, f := range p.Functions {
			if f.Func == "main.stuck" && strings.HasSuffix(f.File, "main.go") && f.Line > 0 {
				found += f.Count
			}
		}
		if found != 300 {
			t.Errorf("%s", testenv.Dump(p.Functions))
		}
	})
}
