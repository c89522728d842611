//go:build amd64 || arm64

package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/program/codepatch"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/launch"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestProgramThatBecomesAPipe: whoever owns the path of a program can put a pipe in its
// place between a look at it and its opening. Whatever opens programs of others
// does not wait for that pipe, which nobody writes to.
func TestProgramThatBecomesAPipe(t *testing.T) {
	testenv.Long(t)
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "program")
	swap := func(make func(name string) error) {
		name := filepath.Join(dir, "next")
		if err := make(name); err != nil {
			t.Error(err)
		}
		if err := os.Rename(name, path); err != nil {
			t.Error(err)
		}
	}
	toProgram := func(name string) error { return os.Symlink(program, name) }
	swap(toProgram)
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				swap(func(name string) error { return unix.Mkfifo(name, 0o700) })
				swap(toProgram)
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		swapper.Wait()
	})
	for name, open := range map[string]func(){
		"symbol": func() {
			if f, err := symbol.Open(path); err == nil {
				f.Close()
			}
		},
		"executable": func() { _, _ = executable.ReadBuild(path) },
		"host":       func() { _, _ = host.Build(path) },
		"overlay":    func() { _, _ = overlay.ReadFile(path) },
		"launch":     func() { _, _ = launch.Prepare(path) },
		"codepatch":  func() { _, _ = codepatch.Copy(path, filepath.Join(dir, "copy")) },
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
					open()
				}
			}()
			select {
			case <-done:
			case <-time.After(testenv.Patience):
				t.Fatal("waits for the pipe")
			}
		})
	}
}
