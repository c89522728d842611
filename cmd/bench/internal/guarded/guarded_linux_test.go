package guarded

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/internal/test/testenv"
)

const pathEnv = "GUARDED_TEST_PATH"

func TestMain(m *testing.M) {
	Play()
	testenv.PlayRole(map[string]func() error{"hold": hold})
	os.Exit(m.Run())
}

// hold changes a file and waits to be killed.
func hold() error {
	path := os.Getenv(pathEnv)
	s, err := New()
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
	s, err := New()
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
	cmd := testenv.Role(t, "hold", pathEnv+"="+path)
	_, out := testenv.Start(t, cmd)
	line, err := out.ReadString('\n')
	if err != nil || contents(t, path) != "always" {
		t.Errorf("%q, %v, %q", line, err, contents(t, path))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // killed
	if !testenv.Within(func() bool { return contents(t, path) == "never" }) {
		t.Fatalf("%q", contents(t, path))
	}
}
