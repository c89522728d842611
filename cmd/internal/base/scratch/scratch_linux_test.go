package scratch

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// The role of a process that makes directories names where, too.
func TestMain(m *testing.M) {
	role, base, _ := strings.Cut(os.Getenv(testenv.RoleEnv), ":")
	var err error
	switch role {
	case "":
		os.Exit(m.Run())
	case "hold":
		err = holdRole(base)
	case "many":
		err = manyRole(base)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// holdRole has a directory with something in it, until it is ended.
func holdRole(base string) error {
	d, err := New(base)
	if err == nil {
		err = os.MkdirAll(filepath.Join(d.Path, "a", "b"), 0o700)
	}
	if err != nil {
		return err
	}
	fmt.Println(d.Path)
	time.Sleep(time.Hour)
	return nil
}

// manyRole makes and removes directories, which must stay while they are there.
func manyRole(base string) error {
	for i := range 200 {
		d, err := New(base)
		if err != nil {
			return err
		}
		file := filepath.Join(d.Path, "file")
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			return fmt.Errorf("directory %d was taken away: %w", i, err)
		}
		Sweep(base)
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("directory %d was swept: %w", i, err)
		}
		if err := d.Remove(); err != nil {
			return err
		}
	}
	return nil
}

func role(t *testing.T, name, base string) *exec.Cmd {
	t.Helper()
	cmd := testenv.Role(t, name+":"+base)
	cmd.Stderr = os.Stderr
	return cmd
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestKilled: what a killed process leaves goes when the next one makes a directory, and
// what a living one has stays.
func TestKilled(t *testing.T) {
	base := t.TempDir()
	var paths []string
	var cmds []*exec.Cmd
	for range 2 {
		cmd := role(t, "hold", base)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		paths, cmds = append(paths, strings.TrimSpace(line)), append(cmds, cmd)
	}
	if err := cmds[0].Process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmds[0].Wait()
	d, err := New(base)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(paths[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the killed process's directory is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(paths[1], "a", "b")); err != nil {
		t.Errorf("the living process's directory is gone: %v", err)
	}
	if info, err := os.Stat(d.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := errors.Join(d.Remove(), d.Remove()); err != nil {
		t.Error(err)
	}
	if got := names(t, base); len(got) != 1 {
		t.Errorf("there is %q", got)
	}
}

// TestSweepersAtOnce: processes that make directories while others look for what was
// left never lose one.
func TestSweepersAtOnce(t *testing.T) {
	base := t.TempDir()
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if err := role(t, "many", base).Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := names(t, base); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}

// TestSweepLeavesOthers: only directories of folio, of this user, in a place where
// nobody can put others in their stead.
func TestSweepLeavesOthers(t *testing.T) {
	base := t.TempDir()
	make := func(name string) string {
		path := filepath.Join(base, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	left, foreign, file := make(prefix+"left"), make("folio-other"), filepath.Join(base, prefix+"file")
	target := filepath.Join(t.TempDir(), "target")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(target, 0o700),
		os.Symlink(target, filepath.Join(base, prefix+"link"))); err != nil {
		t.Fatal(err)
	}
	theirs := make(prefix + "theirs")
	if os.Geteuid() == 0 {
		if err := os.Chown(theirs, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(base, 0o777); err != nil {
		t.Fatal(err)
	}
	if Sweep(base); len(names(t, base)) != 5 {
		t.Errorf("others can write in the directory, and it was swept: %q", names(t, base))
	}
	if err := os.Chmod(base, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	Sweep(base)
	want := []string{foreign, file, filepath.Join(base, prefix+"link"), target}
	if os.Geteuid() == 0 {
		want = append(want, theirs)
	}
	for _, path := range want {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s was removed", path)
		}
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what was left is still there")
	}
}

func TestSignalsWait(t *testing.T) {
	d, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(os.Getpid(), unix.SIGTERM); err != nil { // would end the test
		t.Fatal(err)
	}
	<-d.caught
	RemoveAll()
	if _, err := os.Stat(d.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

// unsafe returns the error if it is an UnsafeError, else fails.
func unsafe(t *testing.T, what string, err error) string {
	t.Helper()
	var u *UnsafeError
	if !errors.As(err, &u) {
		t.Errorf("%s: %v, want an UnsafeError", what, err)
		return ""
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: more than one line: %q", what, err)
	}
	return err.Error()
}

func TestPrivate(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "cache", "folio")
	got, err := Private(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if info, err := os.Stat(d); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", d, info.Mode(), err)
		}
	}
	link := filepath.Join(top, "link")
	if err := os.Symlink(filepath.Join(top, "cache"), link); err != nil {
		t.Fatal(err)
	}
	if through, err := Private(filepath.Join(link, "folio")); err != nil || through != got {
		t.Errorf("through a link: %s, %v, want %s", through, err, got)
	}
	for what, path := range map[string]string{"the directory": dir, "the one above": filepath.Dir(dir)} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
		_, err := Private(dir)
		if text := unsafe(t, what, err); !strings.Contains(text, "others may write in it") || !strings.Contains(text, path) {
			t.Errorf("%s: %s", what, text)
		}
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// In a directory as /tmp nobody replaces what is another's.
	if err := os.Chmod(filepath.Dir(dir), 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if _, err := Private(dir); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	_, err = Private(dir)
	unsafe(t, "a directory as /tmp", err)
}

func TestPrivateOfAnotherUser(t *testing.T) {
	testenv.Root(t, "to give files away")
	top := t.TempDir()
	above := filepath.Join(top, "above")
	dir := filepath.Join(above, "cache")
	if _, err := Private(dir); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, above} {
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		_, err := Private(dir)
		if text := unsafe(t, path, err); !strings.Contains(text, "belongs to user 12345") || !strings.Contains(text, "XDG_CACHE_HOME") {
			t.Error(text)
		}
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file, link, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	if err := errors.Join(WriteFile(file, []byte("text")), os.Symlink(file, link), unix.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(file, 4); err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if got := names(t, dir); len(got) != 3 {
		t.Errorf("there is %q", got)
	}
	_, err := ReadFile(file, 3)
	unsafe(t, "a longer file", err)
	if _, _, err := Open(link); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link: %v", err)
	}
	_, _, err = Open(fifo) // and does not wait
	unsafe(t, "a pipe", err)
	if err := os.Chmod(file, 0o620); err != nil {
		t.Fatal(err)
	}
	_, _, err = Open(file)
	unsafe(t, "a file that others may write", err)
	if os.Geteuid() != 0 {
		return
	}
	if err := errors.Join(os.Chmod(file, 0o600), os.Chown(file, 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	_, _, err = Open(file)
	unsafe(t, "a file of another user", err)
	if err := WriteFile(file, []byte("new")); err != nil { // it is replaced, not written
		t.Fatal(err)
	}
	if data, err := ReadFile(file, 3); err != nil || string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
}
