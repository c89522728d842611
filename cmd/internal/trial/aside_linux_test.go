package trial

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

const oldLine = "gc 1 @0.000s 10%: 0.092+0.12+0.004 ms clock, 0.18+0/0.055/0.029+0.009 ms cpu, 1->1->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P\n"

// Where the standard error of a program is redirected, it is known to where, and how many lines of
// the trace went there.
func TestTraceAside(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, flags int) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, name), flags|os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	old := file("appended.log", os.O_APPEND)
	if _, err := io.WriteString(old, "text\n"+oldLine); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null := file("/../../../../../../../.."+os.DevNull, 0)
	several := file("several.log", 0)
	for _, c := range []struct {
		name   string
		files  []*os.File
		remove bool
		want   []string
	}{
		{"a file", []*os.File{file("err.log", 0)}, false, []string{dir + "/err.log (5 lines)"}},
		{"a file that is removed", []*os.File{file("gone.log", 0)}, true, []string{dir + "/gone.log (5 lines)"}},
		{"a log with an old trace", []*os.File{old}, false, []string{dir + "/appended.log (at least 4 lines)"}},
		{"a pipe", []*os.File{w}, false, []string{"a pipe (at least 5 lines)"}},
		{"a device", []*os.File{null}, false, []string{"/dev/null (at least 5 lines)"}},
		{"one file of two", []*os.File{several, several}, false, []string{dir + "/several.log (at least 10 lines)"}},
		{"a pipe of two", []*os.File{w, w}, false, []string{"a pipe (at least 10 lines)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			needRuntime(t)
			wit := newWitness(procmem.FS{}, true, [2]*pump{{r: r}, {r: r}})
			wit.pipes = nil // folio reads nothing of it
			var pids []int
			var collectors []func()
			for _, f := range c.files {
				cmd := roleCmd("cycles")
				cmd.Env = roleEnviron("GODEBUG=gctrace=1", "GOGC=off")
				cmd.Stderr = f
				in, out := testenv.Start(t, cmd)
				t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
				collect := func() {
					if _, err := io.WriteString(in, "\n"); err != nil {
						t.Fatal(err)
					}
					wait(t, out)
				}
				wait(t, out)
				collect()
				pids, collectors = append(pids, cmd.Process.Pid), append(collectors, collect)
			}
			wit.look(pids)
			for _, a := range wit.aside {
				a.since = time.Time{} // it has run long enough
			}
			if c.remove {
				if err := os.Remove(c.files[0].Name()); err != nil {
					t.Fatal(err)
				}
			}
			wit.look(pids)
			for range 4 {
				for _, collect := range collectors {
					collect()
				}
			}
			wit.look(pids)
			if got := texts(wit.asides()); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if got := wit.asides(); got != nil {
				t.Errorf("once more: %v", got)
			}
		})
	}
}

func texts(all []TraceAside) (out []string) {
	for _, a := range all {
		out = append(out, a.String())
	}
	return out
}

func wait(t *testing.T, out *bufio.Reader) {
	t.Helper()
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
}

// needRuntime skips where the memory of a process, in which its runtime counts, cannot be read.
func needRuntime(t *testing.T) {
	t.Helper()
	cmd := roleCmd("cycles")
	_, out := testenv.Start(t, cmd)
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	wait(t, out)
	mem, err := os.Open(procmem.FS{}.MemPath(cmd.Process.Pid))
	if err != nil {
		testenv.Missing(t, "reading the memory of another process: %v", err)
	}
	mem.Close()
}

// A trial names the file, and holds none of it open.
func TestRedirectedTrace(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	log := filepath.Join(t.TempDir(), "err.log")
	cycles := "{ echo; echo; echo; %s; } | " + roleLine("cycles")
	seen := fmt.Sprintf("until ls -l /proc/%d/fd | grep -q %s; do sleep 0.02; done", os.Getpid(), log)
	for _, c := range []struct {
		script string
		env    string
		want   int
	}{
		{fmt.Sprintf(cycles, seen) + " 2>" + log, "", 1},
		{fmt.Sprintf(cycles, "sleep 0.2") + " 2>" + log, "GODEBUG=gctrace=1", 0}, // as the user wants it
		{fmt.Sprintf(cycles, "sleep 0.2"), "", 0},
	} {
		p := shell(c.script)
		p.Trace = true
		if c.env != "" {
			p.Env = setenv(p.Env, c.env)
		}
		s := runOK(t, p, Setting{GOGC: Off})
		if len(s.Aside) != c.want {
			t.Errorf("%s %s: %v", c.env, c.script, texts(s.Aside))
		}
		if text := s.AsideText(); c.want > 0 && !strings.Contains(text, log+" (3 lines)") || c.want == 0 && text != "" {
			t.Errorf("%s %s: %s", c.env, c.script, text)
		}
		if c.want > 0 && s.GCTrace != TracePartial {
			t.Errorf("%s: the trace is %q", c.script, s.GCTrace)
		}
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasPrefix(to, log) {
			t.Errorf("%s is open", to)
		}
	}
}

func TestTraceLines(t *testing.T) {
	long := strings.Repeat("x", 70<<10)
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 0},
		{oldLine, 1},
		{"a" + oldLine + oldLine + strings.TrimSuffix(oldLine, "\n"), 1},
		{long + oldLine + oldLine, 1},
		{long + "\n" + oldLine, 1},
		{`{"msg":"` + oldLine + `"}` + "\n", 0},
	} {
		n, all, err := traceLines(io.NewSectionReader(strings.NewReader(c.text), 0, mostTrace))
		if n != c.want || !all || err != nil {
			t.Errorf("%.60q: %d lines, all %t, %v; want %d", c.text, n, all, err, c.want)
		}
	}
}

// Few places are named.
func TestAsideText(t *testing.T) {
	s := &Sample{}
	for i := range 5 {
		s.Aside = append(s.Aside, TraceAside{To: fmt.Sprint("/log", i), Lines: new(i)})
	}
	s.Aside[0].Lines = nil
	const want = "standard error was redirected, and the GC trace that folio asks for went there: " +
		"/log0 (number of lines unknown), /log1 (1 line), /log2 (2 lines), 2 other places; --no-gctrace leaves it out"
	if got := s.AsideText(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
