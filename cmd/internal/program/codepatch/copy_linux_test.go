package codepatch

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// asProgram makes the test binary, which is a Go program like any other, grow
// its heap and say how much memory asks for huge pages.
const asProgram = "FOLIO_TEST_CODEPATCH"

var held []byte

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	held = make([]byte, 64<<20)
	mappings, err := procmem.New("").Mappings(os.Getpid())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	sum := uint64(0)
	for _, m := range mappings {
		if m.AdviseHuge {
			sum += m.Len()
		}
	}
	fmt.Println(sum)
}

// advised runs a copy of the test binary.
func advised(t *testing.T, path string) uint64 {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// program copies the test binary to a directory of the test.
func program(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func sum(t *testing.T, path string) [32]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(data)
}

// nothingElse checks that a directory has these files and no other.
func nothingElse(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+e.Name()+" ") {
			t.Errorf("%s is left in %s", e.Name(), dir)
		}
	}
}

func TestCopyIsTheProgramWithThePatch(t *testing.T) {
	in := program(t)
	out := in + ".huge"
	old := time.Date(2021, 3, 4, 5, 6, 7, 890, time.UTC)
	if err := errors.Join(os.Chmod(in, 0o751), unix.Setxattr(in, "user.folio", []byte("kept"), 0),
		os.Chtimes(in, old.Add(time.Hour), old)); err != nil {
		t.Fatal(err)
	}
	before := sum(t, in)
	c, err := Copy(in, out)
	if err != nil {
		t.Fatal(err)
	}
	if sum(t, in) != before {
		t.Error("the program itself was changed")
	}
	a, _ := os.Stat(in)
	b, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	as, bs := a.Sys().(*syscall.Stat_t), b.Sys().(*syscall.Stat_t)
	if a.Size() != b.Size() || a.Mode() != b.Mode() || !a.ModTime().Equal(b.ModTime()) || as.Uid != bs.Uid || as.Gid != bs.Gid {
		t.Errorf("program %v, copy %v", as, bs)
	}
	if !b.ModTime().Equal(old) || time.Unix(bs.Atim.Unix()).Before(old) {
		t.Errorf("times %v, %v", b.ModTime(), time.Unix(bs.Atim.Unix()))
	}
	value := make([]byte, 16)
	if n, err := unix.Getxattr(out, "user.folio", value); err != nil || string(value[:n]) != "kept" {
		t.Errorf("attribute %q, %v", value[:max(n, 0)], err)
	}
	// Only the edits differ.
	x, _ := os.ReadFile(in)
	y, _ := os.ReadFile(out)
	for _, e := range c.Patch.Edits {
		copy(x[e.Offset:], e.New)
	}
	if !bytes.Equal(x, y) {
		t.Error("more than the edits differs")
	}
	nothingElse(t, filepath.Dir(in), "prog", "prog.huge")
	if n := advised(t, in); n >= 32<<20 {
		t.Errorf("%d bytes of the program as it is ask for huge pages", n)
	}
	if n := advised(t, out); n < 64<<20 {
		t.Errorf("%d bytes of the copy ask for huge pages, want its heap of 64 MiB", n)
	}
	p, err := Open(out)
	if err != nil || !p.Applied {
		t.Errorf("the copy is not recognized: %v", err)
	}
	var refused *RefusedError
	if _, err := Copy(out, out+"2"); !errors.As(err, &refused) || refused.Kind != Patched {
		t.Errorf("patched again: %v", err)
	}
}

// TestCopyAgainGivesTheSame: the copy is a function of the program.
func TestCopyAgainGivesTheSame(t *testing.T) {
	in := program(t)
	for _, out := range []string{in + "1", in + "2"} {
		if _, err := Copy(in, out); err != nil {
			t.Fatal(err)
		}
	}
	if sum(t, in+"1") != sum(t, in+"2") {
		t.Error("two copies differ")
	}
}

func TestCopyNeverOverwritesItsInput(t *testing.T) {
	in := program(t)
	dir := filepath.Dir(in)
	if err := errors.Join(os.Symlink("prog", dir+"/soft"), os.Link(in, dir+"/hard"),
		os.Symlink("nowhere", dir+"/dangling"), os.Mkdir(dir+"/dir", 0o755),
		os.Symlink(dir, dir+"/up"), unix.Mkfifo(dir+"/fifo", 0o644)); err != nil {
		t.Fatal(err)
	}
	before := sum(t, in)
	for _, c := range []struct{ from, to, says string }{
		{in, in, "is the program itself"},
		{in, dir + "/soft", "is the program itself"},
		{in, dir + "/hard", "is the program itself"},
		{dir + "/soft", in, "is the program itself"},
		{dir + "/soft", dir + "/hard", "is the program itself"},
		{in, dir + "/up/prog", "is the program itself"},
		{in, dir + "/dir", "is a directory"},
		{in, dir + "/dangling", "a link to nothing"},
		{in, dir + "/fifo", "not a regular file"},
		{in, "/dev/null", "not a regular file"},
		{in, dir + "/none/out", "no such file or directory"},
		{dir + "/dir", dir + "/out", "not a regular file"},
		{dir + "/none", dir + "/out", "no such file or directory"},
	} {
		_, err := Copy(c.from, c.to)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s to %s: %v, want %q", c.from, c.to, err, c.says)
		}
	}
	if sum(t, in) != before {
		t.Fatal("the program was changed")
	}
	nothingElse(t, dir, "prog", "soft", "hard", "dangling", "dir", "up", "fifo")
}

func TestCopyReplacesAtOnce(t *testing.T) {
	in := program(t)
	out := in + ".huge"
	if err := errors.Join(os.WriteFile(out, []byte("old"), 0o600), os.Symlink(out, in+".link")); err != nil {
		t.Fatal(err)
	}
	was, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer was.Close()
	if _, err := Copy(in, in+".link"); err != nil {
		t.Fatal(err)
	}
	if old, err := io.ReadAll(was); err != nil || string(old) != "old" {
		t.Errorf("who had the old file open reads %d bytes, %v", len(old), err)
	}
	if info, err := os.Lstat(in + ".link"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if p, err := Open(out); err != nil || !p.Applied {
		t.Errorf("%v", err)
	}
	nothingElse(t, filepath.Dir(in), "prog", "prog.huge", "prog.link")
}

func TestCopyRefuses(t *testing.T) {
	for _, c := range []struct {
		name, says string
		kind       Kind
		prepare    func(t *testing.T, path string) error
	}{
		{"setuid", "setuid or setgid", Privileged, func(_ *testing.T, p string) error { return os.Chmod(p, 0o755|fs.ModeSetuid) }},
		{"setgid", "setuid or setgid", Privileged, func(_ *testing.T, p string) error { return os.Chmod(p, 0o755|fs.ModeSetgid) }},
		{"capabilities", "file capabilities", Privileged, func(t *testing.T, p string) error {
			return asRoot(t, unix.Setxattr(p, "security.capability", capability(), 0))
		}},
		{"IMA", "security.ima", Privileged, func(t *testing.T, p string) error {
			return asRoot(t, unix.Setxattr(p, "security.ima", []byte{3, 2, 4, 1, 2, 3, 4, 0, 1, 0}, 0))
		}},
		{"module signature", "Module signature appended", Privileged,
			func(_ *testing.T, p string) error { return grow(p, "sig~Module signature appended~\n") }},
		{"PGP signature", "PGP SIGNATURE", Privileged,
			func(_ *testing.T, p string) error { return grow(p, "-----BEGIN PGP SIGNATURE-----\nabc\n") }},
		{"script", "a script for \"/bin/sh\"", NotELF,
			func(_ *testing.T, p string) error { return os.WriteFile(p, []byte("#!/bin/sh\nexit\n"), 0o755) }},
		{"text", "not a program", NotELF, func(_ *testing.T, p string) error { return os.WriteFile(p, []byte("hello"), 0o755) }},
		{"empty", "not a program", NotELF, func(_ *testing.T, p string) error { return os.WriteFile(p, nil, 0o755) }},
		{"cut off", "not a Go program", NotGo, func(_ *testing.T, p string) error { return os.Truncate(p, 1000) }},
		{"not Go", "not a Go program", NotGo, func(t *testing.T, p string) error { return copyFile(p, "/bin/cat") }},
		{"packed", "upx -d", Unreadable, func(t *testing.T, p string) error {
			if err := copyFile(p, "/bin/cat"); err != nil {
				return err
			}
			f, err := os.OpenFile(p, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			head := make([]byte, 64)
			if _, err := f.ReadAt(head, 0); err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("UPX!"), 64+56*int64(binary.LittleEndian.Uint16(head[56:]))+4) // behind the program headers
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := program(t)
			if err := c.prepare(t, in); err != nil {
				t.Fatal(err)
			}
			_, err := Copy(in, in+".huge")
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.Kind != c.kind || !strings.Contains(refused.Why, c.says) {
				t.Errorf("%v, want kind %d and %q", err, c.kind, c.says)
			}
			nothingElse(t, filepath.Dir(in), "prog")
		})
	}
}

// asRoot gives up where an attribute cannot be set.
func asRoot(t *testing.T, err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTSUP) {
		testenv.Missing(t, "set security attributes of files: %v", err)
	}
	return err
}

// capability is CAP_NET_BIND_SERVICE, permitted and effective (struct
// vfs_cap_data, version 2).
func capability() []byte {
	return []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
}

func grow(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// TestCopyKeepsWhatFollows: programs that carry their data behind them find it.
func TestCopyKeepsWhatFollows(t *testing.T) {
	in := program(t)
	if err := grow(in, "PK\x05\x06 an archive"); err != nil {
		t.Fatal(err)
	}
	c, err := Copy(in, in+".huge")
	if err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(in + ".huge")
	if !bytes.HasSuffix(data, []byte("PK\x05\x06 an archive")) || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "15 bytes follow") {
		t.Errorf("notes %q", c.Notes)
	}
}

// TestCopyToAFullDisk leaves what was there, and nothing else.
func TestCopyToAFullDisk(t *testing.T) {
	in := program(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		testenv.Missing(t, "mount a tiny file system: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	if err := os.WriteFile(dir+"/out", []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Copy(in, dir+"/out")
	if !errors.Is(err, unix.ENOSPC) && (err == nil || !strings.Contains(err.Error(), "no space left on device")) {
		t.Errorf("%v, want no space left", err)
	}
	if err != nil && !strings.Contains(err.Error(), dir+"/out: ") {
		t.Errorf("%v does not name the file", err)
	}
	if data, err := os.ReadFile(dir + "/out"); err != nil || string(data) != "old" {
		t.Errorf("the old file is %q, %v", data, err)
	}
	nothingElse(t, dir, "out")
}

func TestCopyOfAnotherUsersProgram(t *testing.T) {
	in := program(t)
	testenv.Root(t, "to give a file away")
	if err := os.Chown(in, 1234, 2345); err != nil {
		t.Fatal(err)
	}
	if _, err := Copy(in, in+".huge"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(in + ".huge")
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 2345 {
		t.Errorf("the copy belongs to %d:%d", st.Uid, st.Gid)
	}
}
