package input

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// within fails the test if f waits: who opens a pipe that nobody writes to would wait
// for ever.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(testenv.Patience):
		t.Fatal("it waits")
	}
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	file, fifo, link, socket := filepath.Join(dir, "file"), filepath.Join(dir, "fifo"), filepath.Join(dir,
		"link"), filepath.Join(dir, "socket")
	if err := errors.Join(os.WriteFile(file, []byte("text"), 0o600), unix.Mkfifo(fifo, 0o600), os.Symlink(fifo, link)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	within(t, func() {
		for _, path := range []string{dir, fifo, link, socket, "/dev/zero", "/dev/null", "/proc/self/fd"} {
			if f, _, err := Open(path); !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v, %v", path, f, err)
			}
		}
		if _, _, err := Open(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("absent: %v", err)
		}
		for _, path := range []string{file, "/proc/self/exe", "/proc/self/cmdline"} {
			f, info, err := Open(path)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if f.Name() != path || info == nil {
				t.Errorf("it is called %s", f.Name())
			}
			flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0)
			if err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("%s: children get it: %#x, %v", path, flags, err)
			}
			f.Close()
		}
	})
}

// TestOpenWithoutProc is about systems that have no /proc at its place.
func TestOpenWithoutProc(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.WriteFile(other, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	fd, err := openSame(path, &st)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	if _, err := openSame(other, &st); !errors.Is(err, ErrNotRegular) {
		t.Errorf("another file was taken for it: %v", err)
	}
}

// TestOpenRace changes a path from a file to a pipe and back, so that a look before
// opening says nothing about what is opened.
func TestOpenRace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "path")
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		file, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
		for {
			select {
			case <-quit:
				return
			default:
			}
			_, _ = os.WriteFile(file, []byte("text"), 0o600), os.Rename(file, path)
			_, _ = unix.Mkfifo(fifo, 0o600), os.Rename(fifo, path)
		}
	}()
	within(t, func() {
		files, refused := 0, 0
		for files < 200 || refused < 200 {
			f, info, err := Open(path)
			switch {
			case err == nil && info.Mode().IsRegular():
				files++
				f.Close()
			case errors.Is(err, ErrNotRegular):
				refused++
			case errors.Is(err, os.ErrNotExist):
			default:
				t.Errorf("%v, %v", info, err)
				return
			}
		}
	})
	close(quit)
	<-done
}

func TestReadFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse")
	if err := os.WriteFile(path, []byte("12345678"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(path, 8); err != nil || string(data) != "12345678" {
		t.Errorf("%q, %v", data, err)
	}
	var large *TooLargeError
	if _, err := ReadFile(path, 7); !errors.As(err, &large) || !strings.Contains(err.Error(), path+" is larger than the 7B") {
		t.Errorf("%v", err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path, 64<<20); !errors.As(err, &large) || !strings.Contains(err.Error(), "larger than the 64MiB") {
		t.Errorf("%v", err)
	}
	// What grows, or tells no size, is cut off as well.
	if _, err := ReadAll(strings.NewReader("12345678"), "standard input", 7); !errors.As(err, &large) ||
		!strings.Contains(err.Error(), "standard input") {
		t.Errorf("%v", err)
	}
}
