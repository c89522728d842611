package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/lab/settings"
	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

const holdEnv = "GOHEAP_BENCH_HOLD"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == guardCommand {
		exit(guardMain(os.Args[2:]))
	}
	if path := os.Getenv(holdEnv); path != "" {
		exit(hold(path))
	}
	os.Exit(m.Run())
}

// hold changes a file and waits to be killed.
func hold(path string) error {
	s, err := newSettings()
	if err != nil {
		return err
	}
	if err := s.Apply([]settings.Change{{Path: path, Value: "madvise"}, {Path: path, Value: "always"}}); err != nil {
		return err
	}
	fmt.Println("changed")
	time.Sleep(time.Hour)
	return nil
}

func contents(t *testing.T, path string) string {
	t.Helper()
	text, err := settings.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRestore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "setting")
	if err := os.WriteFile(path, []byte("never\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := newSettings()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply([]settings.Change{{Path: path, Value: "always"}}); err != nil || contents(t, path) != "always" {
		t.Errorf("%q, %v", contents(t, path), err)
	}
	if err := s.Restore(); err != nil || contents(t, path) != "never" {
		t.Errorf("%q, %v", contents(t, path), err)
	}
	if err := s.Apply([]settings.Change{{Path: path, Value: "always"}, {Path: path + ".absent", Value: "1"}}); err == nil || contents(t, path) != "never" {
		t.Errorf("half of the changes: %q, %v", contents(t, path), err)
	}
	if err := s.Apply([]settings.Change{{Path: path, Value: "madvise"}}); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil || contents(t, path) != "never" {
		t.Errorf("%q, %v", contents(t, path), err)
	}
}

// TestRestoreWhenKilled: the guard puts back what this program cannot.
func TestRestoreWhenKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "setting")
	if err := os.WriteFile(path, []byte("never\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), holdEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || contents(t, path) != "always" {
		t.Errorf("%q, %v, %q", line, err, contents(t, path))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // killed
	for end := time.Now().Add(time.Minute); contents(t, path) != "never"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q", contents(t, path))
		}
	}
}
