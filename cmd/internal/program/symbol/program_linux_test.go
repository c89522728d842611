package symbol

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goversion"
	"github.com/foliomem/folio/internal/test/testenv"
)

// build builds a program of testdata with these additions to the environment
// and arguments, and returns its path.
func build(t testing.TB, program string, env []string, args ...string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", program, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	return testenv.Build{Source: testenv.Module(string(source)), Env: env, Args: args}.Do(t)
}

// said is what a program's runtime says of a place in it.
type said struct {
	stack  bool // on a stack: all frames up to main are listed
	offset uint64
	frames []Frame
}

// ask runs the program, which may need an emulator, and returns what it says.
func ask(t *testing.T, command ...string) (all []said) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) < 3 {
			t.Fatalf("line %q", line)
		}
		s := said{stack: fields[0] == "stack"}
		if s.offset, err = strconv.ParseUint(fields[1], 10, 64); err != nil {
			t.Fatal(err)
		}
		for _, f := range fields[2:] {
			parts := strings.Split(f, "|")
			n, err := strconv.Atoi(parts[len(parts)-1])
			if err != nil || len(parts) != 3 {
				t.Fatalf("frame %q in %q", f, line)
			}
			s.frames = append(s.frames, Frame{Func: parts[0], File: parts[1], Line: n})
		}
		all = append(all, s)
	}
	return all
}

// check compares what the file at path says with what the program says.
func check(t *testing.T, path string, all []said, version string) {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !f.IsGo() || f.GoVersion() != version {
		t.Errorf("IsGo %v, version %q, want %q", f.IsGo(), f.GoVersion(), version)
	}
	if doubt := f.Doubt(); doubt != "" {
		t.Errorf("names are in doubt: %s", doubt)
	}
	agree(t, f, all, version)
}

// agree compares what a file says with what the program says.
func agree(t *testing.T, f *File, all []said, version string) {
	t.Helper()
	wrong, stacks, codes, inlined := 0, 0, 0, 0
	for _, s := range all {
		address, ok := f.Address(s.offset)
		if !ok {
			t.Fatalf("no address for offset %#x", s.offset)
		}
		got := f.Lookup(address, true)
		want := s.frames
		if s.stack {
			stacks++
			want = want[:min(len(want), max(1, len(got)))]
		} else {
			codes++
			if len(want) == 1 && runtimeListsOne(version) {
				got = got[:min(len(got), 1)]
			}
		}
		if len(want) > 1 {
			inlined++
		}
		got, want = settle(got, want)
		if !slices.Equal(got, want) {
			if wrong++; wrong <= 5 {
				t.Errorf("%#x:\n got %v\nwant %v", address, got, want)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d wrong", wrong, len(all))
	}
	if stacks < 20 || codes < 1000 || inlined < 10 {
		t.Errorf("the program said too little: %d places on stacks, %d in code, %d inlined", stacks, codes, inlined)
	}
	names := slices.Collect(f.Functions())
	for _, name := range []string{"main.main", "main.generic[...]", "main.small", "main.(*shape).grow",
		"runtime.mallocgc", "runtime.memclrNoHeapPointers"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not among the %d functions", name, len(names))
		}
	}
}

// settle makes equal what is meant to differ.
func settle(got, want []Frame) ([]Frame, []Frame) {
	for i := range got {
		got[i].Start = 0 // which it does not say
		// The runtime writes a question mark for what it does not know.
		if got[i].File == "" {
			got[i].File = "?"
		}
		// It has no name for the program's first function, because 0 stands
		// for no name as well.
		if i < len(want) && want[i].Func == "" {
			got[i].Func = ""
		}
	}
	// It leaves out what the compiler wraps around a deferred call, and takes a
	// function of package reflect for such a wrapper. Both have a line in the
	// source, so they are worth naming.
	if n := len(got); n > 1 && n == len(want)+1 && wrapped(got[n-1].Func) {
		got = got[:n-1]
	}
	return got, want
}

func wrapped(name string) bool {
	return strings.Contains(name, ".deferwrap") || name == "reflect.callMethod"
}

// runtimeListsOne tells whether CallersFrames of this version gives one frame
// for an address, not those it was inlined into.
func runtimeListsOne(version string) bool {
	minor, _, _ := strings.Cut(strings.TrimPrefix(version, "go1."), ".")
	n, _ := strconv.Atoi(minor)
	return n < 23
}

func TestProgramsAgreeWithTheirRuntime(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		args []string
	}{
		{"plain", []string{"CGO_ENABLED=0"}, nil},
		{"without symbols", []string{"CGO_ENABLED=0"}, []string{"-ldflags=-s -w"}},
		{"position independent", []string{"CGO_ENABLED=0"}, []string{"-buildmode=pie"}},
		{"position independent without symbols", []string{"CGO_ENABLED=0"}, []string{"-buildmode=pie", "-ldflags=-s -w"}},
		{"trimmed paths", []string{"CGO_ENABLED=0"}, []string{"-trimpath"}},
		{"system linker", []string{"CGO_ENABLED=1"}, []string{"-ldflags=-linkmode=external"}},
		{"system linker, position independent", []string{"CGO_ENABLED=1"}, []string{"-buildmode=pie", "-ldflags=-linkmode=external"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.env[0] == "CGO_ENABLED=1" {
				needTool(t, "gcc")
			}
			if c.name != "plain" {
				testenv.Long(t)
			}
			path := build(t, "program", c.env, c.args...)
			all := ask(t, path)
			check(t, path, all, runtime.Version())
			// The same file with less and less in it says the same.
			for _, s := range strippers {
				t.Run(s.name, func(t *testing.T) {
					stripped := filepath.Join(t.TempDir(), "stripped")
					s.strip(t, path, stripped)
					check(t, stripped, all, runtime.Version())
				})
			}
		})
	}
}

func needTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		testenv.Missing(t, "no %s", name)
	}
}

var strippers = []struct {
	name  string
	strip func(t *testing.T, from, to string)
}{
	{"stripped", func(t *testing.T, from, to string) {
		needTool(t, "strip")
		if out, err := exec.Command("strip", "--strip-all", "-o", to, from).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}},
	{"without section headers", func(t *testing.T, from, to string) {
		rewrite(t, from, to, func(b []byte, order binary.ByteOrder) []byte {
			order.PutUint64(b[0x28:], 0)
			order.PutUint32(b[0x3c:], 0)
			return b
		})
	}},
	{"section headers cut off", func(t *testing.T, from, to string) {
		rewrite(t, from, to, func(b []byte, order binary.ByteOrder) []byte {
			// The Go linker puts the headers first, others last.
			order.PutUint64(b[0x28:], uint64(len(b)))
			return b
		})
	}},
}

func rewrite(t *testing.T, from, to string, change func([]byte, binary.ByteOrder) []byte) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[5] == 2 {
		order = binary.BigEndian
	}
	testenv.WriteProgram(t, to, change(b, order))
}

// toolchains are those that programs to read are built with.
var toolchains = goversion.SupportOf(goversion.Profiles).Releases()

// needToolchain returns the environment that builds with a version of Go. It uses
// those that are in the module cache, and where nothing may be skipped it gets them.
func needToolchain(t *testing.T, version string) []string {
	t.Helper()
	env := []string{"GOTOOLCHAIN=" + version, "CGO_ENABLED=0"}
	if !testenv.NoSkip() {
		env = append(env, "GOPROXY=off")
	}
	cmd := exec.Command("go", "version")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte(version)) {
		testenv.Missing(t, "no toolchain: GOTOOLCHAIN=%s go version\n%s", version, out)
	}
	return env
}

func TestToolchains(t *testing.T) {
	for _, version := range testenv.Versions(t, toolchains) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			env := needToolchain(t, version)
			for _, args := range [][]string{nil, {"-buildmode=pie", "-ldflags=-s -w"}} {
				t.Run(fmt.Sprint(args), func(t *testing.T) {
					path := build(t, "program", env, args...)
					check(t, path, ask(t, path), version)
				})
			}
		})
	}
}

// TestEveryAddress compares all addresses of a program, not one of a hundred.
func TestEveryAddress(t *testing.T) {
	testenv.FullOnly(t)
	for _, version := range toolchains[len(toolchains)-2:] {
		t.Run(version, func(t *testing.T) {
			path := build(t, "program", needToolchain(t, version))
			check(t, path, ask(t, path, "1"), version)
		})
	}
}

// TestLaterRelease is about programs of a Go that is not known yet: what the file
// says is marked, and where it cannot be right only the function is told, without a
// place in it.
func TestLaterRelease(t *testing.T) {
	for _, version := range toolchains[len(toolchains)-2:] {
		t.Run(version, func(t *testing.T) {
			path := build(t, "program", needToolchain(t, version))
			all := ask(t, path)
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			f.version = new(strings.Replace(version, "go1.2", "go1.9", 1))
			if f.Doubt() == "" {
				t.Errorf("%s is not in doubt", f.GoVersion())
			}
			agree(t, f, all, version) // the words that moved are found
			// Without the tree, nothing is told that is not so.
			f.pcln.tree = span{}
			wrong, told := 0, 0
			for _, s := range all {
				address, _ := f.Address(s.offset)
				got, want := settle(f.Lookup(address, true), s.frames)
				if s.stack || len(got) == 0 || wrapped(got[0].Func) {
					continue
				}
				told++
				if len(got) != 1 || !same(want[len(want)-1].Func, got[0].Func) || got[0].File != "?" && (len(want) > 1 || got[0] != want[0]) {
					if wrong++; wrong <= 5 {
						t.Errorf("%#x:\n got %v\nwant %v", address, got, want)
					}
				}
			}
			if wrong > 0 || told < 1000 {
				t.Errorf("%d of %d wrong", wrong, told)
			}
		})
	}
}

func TestCodeInC(t *testing.T) {
	needTool(t, "gcc")
	path := build(t, "cprogram", []string{"CGO_ENABLED=1"})
	out, err := exec.Command(path).Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	for _, line := range strings.Fields(string(out)) {
		offset, _ := strconv.ParseUint(line, 10, 64)
		address, _ := f.Address(offset)
		frames := f.Lookup(address, false)
		if len(frames) != 1 {
			t.Fatalf("%#x: %v", address, frames)
		}
		got = append(got, frames[0].Func)
	}
	if want := []string{"folio_in_c", "main.pc"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
