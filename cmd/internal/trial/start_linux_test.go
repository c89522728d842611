package trial

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// What cannot be started is one line that says what to do, and no sample.
func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", os.Getenv("PATH")+":"+dir+":.")
	write := func(name, text string, mode os.FileMode) string {
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("here", "#!/bin/sh\n", 0o700)
	write("noexec", "#!/bin/sh\n", 0o600)
	write("text", "just text\n", 0o700)
	write("lost", "#!/nonexistent/interpreter\n", 0o700)
	write("loaderless", loaderless(t), 0o700)
	write("file", "", 0o600)
	for _, c := range []struct {
		name    string
		command string
		is      error
		words   []string
	}{
		{"not found", "no-such-command-here", nil, []string{"not found", "check the name"}},
		{"no such file", "./no/such/file", os.ErrNotExist, []string{"no such file"}},
		{"not executable", "./noexec", os.ErrPermission, []string{"permission denied", "chmod +x"}},
		{"directory", dir, unix.EISDIR, []string{"directory", "program in it"}},
		{"below a file", "./file/x", unix.ENOTDIR, []string{"not a directory"}},
		{"neither program nor script", "./text", unix.ENOEXEC, []string{"not a program", "#!"}},
		{"interpreter missing", "./lost", errNoLoader, []string{"its interpreter (/nonexistent/interpreter) does not exist", "#!"}},
		{"loader missing", "./loaderless", errNoLoader, []string{"its dynamic loader (/nonexistent/ld.so.1) does not exist", "C library"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := (&subject{Program: Program{Command: []string{c.command, "arg"}}}).Run(t.Context(), Setting{})
			checkNoneLeft(t)
			var se *StartError
			if !errors.As(err, &se) || s != nil {
				t.Fatalf("sample %v, error %v; want a StartError", s, err)
			}
			if se.Command != c.command {
				t.Errorf("command %q", se.Command)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v is not %v", err, c.is)
			}
			checkMessage(t, err, append(c.words, c.command)...)
		})
	}
	// "." in the path finds it, which is not what the user expects to run.
	t.Setenv("PATH", ".")
	p := &subject{Program: Program{Command: []string{"here"}}}
	for _, err := range []error{p.Check(), second(p.Run(t.Context(), Setting{}))} {
		var se *StartError
		if !errors.As(err, &se) {
			t.Fatalf("error %v, want a StartError", err)
		}
		checkMessage(t, err, "here: it is in the current directory", "./here")
	}
}

// loaderless is a program whose dynamic loader does not exist.
func loaderless(t *testing.T) string {
	machine := elf.EM_X86_64
	if runtime.GOARCH == "arm64" {
		machine = elf.EM_AARCH64
	}
	const phoff, at, loader = 64, 64 + 56, "/nonexistent/ld.so.1\x00"
	var b bytes.Buffer
	for _, v := range []any{
		elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Phoff: phoff, Ehsize: 64, Phentsize: 56, Phnum: 1},
		elf.Prog64{Type: uint32(elf.PT_INTERP), Off: at, Filesz: uint64(len(loader))},
	} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return b.String() + loader
}

func second(_ *Sample, err error) error { return err }

func TestOtherErrorsBeforeTheStart(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		p     *subject
		words []string
	}{
		{&subject{Program: Program{}}, []string{"no command"}},
		{&subject{Program: Program{Command: []string{"true"}, Input: missing}}, []string{"--input", missing}},
		{&subject{Program: Program{Command: []string{"true"}, Dir: missing}}, []string{"working directory", missing}},
	} {
		s, err := c.p.Run(t.Context(), Setting{})
		checkNoneLeft(t)
		if s != nil {
			t.Errorf("%+v: sample %+v", c.p, s)
		}
		checkMessage(t, err, c.words...)
	}
}

func TestCanceledBeforeTheStart(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := shell("sleep 1000").Run(ctx, Setting{})
	checkNoneLeft(t)
	if s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", s, err)
	}
}

// A trial costs no file descriptor and no goroutine, whether it worked or not.
func TestNothingIsLeftOpen(t *testing.T) {
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	trials := func() {
		runOK(t, shell("echo x; echo y >&2"), Setting{})
		runOK(t, shell(":"), Setting{THP: THPOff})
		run(t, shell("kill -9 $$"), Setting{})
		_, _ = (&subject{Program: Program{Command: []string{"./no-such"}}}).Run(t.Context(), Setting{})
		_, _ = runUntil(t, shell("echo ready; sleep 1000"))
	}
	trials() // the first opens what the process keeps
	before, goroutines := count(), runtime.NumGoroutine()
	for range 3 {
		trials()
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors became %d", before, after)
	}
	// One that has said that it is done may still be on its way out.
	testenv.Eventually(t, "goroutines are left", func() bool { return runtime.NumGoroutine() <= goroutines })
}

// Only one trial runs at a time: the orphans of two could not be told apart.
func TestTrialsDoNotOverlap(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	script := "mkdir " + Quote(lock) + " || exit 9; sleep 0.05; rmdir " + Quote(lock)
	results := make(chan string)
	const n = 4
	for range n {
		go func() {
			s, err := shell(script).Run(context.Background(), Setting{})
			switch {
			case err != nil:
				results <- err.Error()
			default:
				results <- s.Failure
			}
		}()
	}
	for range n {
		if r := <-results; r != "" {
			t.Error(r)
		}
	}
	checkNoneLeft(t)
}

func TestProgramGetsSettingAndDirectory(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	p := shell(`echo "$GOGC $GOMEMLIMIT $GOMAXPROCS $X" && pwd`)
	p.Dir, p.Stdout = dir, &out
	p.Env = append(p.Env, "GOGC=1", "GOGC=2", "X=base")
	runOK(t, p, Setting{GOGC: "50", MemLimit: 1 << 30, GOMAXPROCS: 3, Env: []string{"X=arm"}})
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := "50 1GiB 3 arm\n" + real + "\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// A directory that may not be entered is named: the mode of the file may be right.
func TestClosedDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // TempDir keeps others out
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0); err != nil {
		t.Fatal(err)
	}
	testenv.AsNobody(t, func() {
		_, err := LookPath(filepath.Join(locked, "prog"))
		if want := locked + "/prog: permission denied: folio's user may not enter " + locked; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	})
}
