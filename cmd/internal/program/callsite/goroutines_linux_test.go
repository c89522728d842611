package callsite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// startGoroutines starts a program of testenv.GoroutinesSource. ask has it do something,
// and say its stacks.
func startGoroutines(t *testing.T, path string) (pid int, ask func(line string) string) {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "GODEBUG=")
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return cmd.Process.Pid, func(line string) string {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		return until(t, out)
	}
}

func until(t *testing.T, out *bufio.Reader) string {
	t.Helper()
	var b strings.Builder
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "end\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

var (
	traceHead  = regexp.MustCompile(`^goroutine (\d+) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^],]*)`)
	tracePlace = regexp.MustCompile(`^\t(.*):(\d+)(?: \+0x[0-9a-f]+)?$`)
)

// tracesOf makes of the text of stack traces a line for each goroutine, by its id: state, and
// the functions that are not of the runtime.
func tracesOf(t *testing.T, text string) map[uint64]string {
	t.Helper()
	out := make(map[uint64]string)
	for _, part := range strings.Split(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(part, "\n")
		m := traceHead.FindStringSubmatch(lines[0])
		if m == nil {
			t.Fatalf("%q", lines[0])
		}
		id, _ := strconv.ParseUint(m[1], 10, 64)
		text := m[2]
		elided := false
		for i := 1; i+1 < len(lines); i += 2 {
			name := lines[i]
			if strings.HasPrefix(name, "...") {
				elided = true // of deep stacks what is in the middle is left out
				i--
				continue
			}
			created, isCreated := strings.CutPrefix(name, "created by ")
			if isCreated {
				name, _, _ = strings.Cut(created, " in goroutine")
			} else {
				name = name[:strings.LastIndexByte(name, '(')]
			}
			place := tracePlace.FindStringSubmatch(lines[i+1])
			if place == nil {
				t.Fatalf("%q", lines[i+1])
			}
			if elided && !isCreated {
				continue
			}
			text += traceLine(name, place[1], place[2], isCreated)
		}
		out[id] = text
	}
	return out
}

func traceLine(name, file, line string, created bool) string {
	if strings.HasPrefix(name, "runtime.") || IsWrapper(name) {
		return ""
	}
	sep := "\n"
	if created {
		sep = "\ncreated by "
	}
	return fmt.Sprintf("%s%s %s:%s", sep, name, filepath.Base(file), line)
}

// TestGoroutines compares the goroutines of a program, read from outside, with the stack
// traces that it prints itself.
func TestGoroutines(t *testing.T) {
	for _, release := range testenv.Versions(t, releases) {
		t.Run(release, func(t *testing.T) {
			path, err := testenv.Build{Source: testenv.GoroutinesSource(), Args: []string{"-ldflags=-s -w"}, Env: []string{"CGO_ENABLED=0", "GOTOOLCHAIN=" + release}}.Try(t)
			if err != nil {
				testenv.Missing(t, "%v", err)
			}
			testGoroutines(t, path)
		})
	}
}

func testGoroutines(t *testing.T, path string) {
	pid, ask := startGoroutines(t, path)
	target, err := goruntime.Attach(procmem.FS{}, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	tries := 0
	// They come to rest in their own time.
	var want, have map[uint64]string
	same := testenv.Within(func() bool {
		if tries++; tries > 1000 { // it never will
			return true
		}
		want = tracesOf(t, ask("say"))
		have = make(map[uint64]string)
		unread, err := target.EachGoroutine(context.Background(), true, func(g *goruntime.Goroutine) {
			if !IsSystem(target.Frames(g.Start, false)) {
				have[g.ID] = traceOf(target, g)
			}
		})
		if err != nil || unread > 0 {
			t.Fatalf("%d unread, %v", unread, err)
		}
		return differ(have, want) == ""
	})
	if !same || differ(have, want) != "" {
		t.Fatalf("%s", differ(have, want))
	}
	ask("gc")
	ask("gc") // which sees what has waited since the first
	all, err := ReadGoroutines(context.Background(), target)
	if err != nil {
		t.Fatal(err)
	}
	sum, longest := 0, 0
	for _, g := range all.Groups {
		sum += g.Count
		if g.Longest > 0 {
			longest++
		}
	}
	if all.Total < 100 || sum+all.System != all.Total || all.Unread != 0 || all.Left != 0 || all.System == 0 || longest < 10 {
		t.Errorf("%d goroutines, %d in groups, %d of the runtime, %d unread, %d groups with a time", all.Total, sum, all.System, all.Unread, longest)
	}
	if g := all.Groups[0]; g.Count != 50 || g.State != "chan receive" || g.Created.Func != "main.start" || g.Start != "main.main.func1" ||
		!g.Whole || len(g.Waits()) < 2 || g.Waits()[0].Func != "main.receive" {
		t.Errorf("%+v", g)
	}
	if (all.Leaked != nil) != strings.Contains(target.Version(), "go1.27") {
		t.Errorf("%s: leaked %v", target.Version(), all.Leaked)
	}
	if all.Leaked == nil {
		return
	}
	// Those that wait for channels that nobody else has, and for nothing at all.
	ask("leaks")
	if all, err = ReadGoroutines(context.Background(), target); err != nil || *all.Leaked != 7 {
		t.Errorf("%d leaked, %v", *all.Leaked, err)
	}
}

// traceOf is what tracesOf makes of a goroutine.
func traceOf(target *goruntime.Target, g *goruntime.Goroutine) string {
	state := g.Reason
	if state == "" {
		state = g.Status.String()
	}
	n := 0
	add := func(f symbol.Frame, created bool) string {
		line := traceLine(f.Func, f.File, fmt.Sprint(f.Line), created)
		if line != "" {
			n++
		}
		if n > 50 && !created {
			return ""
		}
		return line
	}
	for i, pc := range g.Stack {
		for _, f := range target.Frames(pc, i > 0) {
			state += add(f, false)
		}
	}
	if f := target.Frames(g.Created, true); g.Created != 0 && len(f) > 0 {
		state += add(f[0], true)
	}
	return state
}

// differ says in what the goroutines differ, but for the one that prints the traces.
func differ(have, want map[uint64]string) string {
	var b strings.Builder
	if len(have) != len(want) {
		fmt.Fprintf(&b, "%d goroutines, want %d\n", len(have), len(want))
	}
	n := 0
	for id, w := range want {
		if id != 1 && have[id] != w {
			if n++; n < 3 {
				fmt.Fprintf(&b, "goroutine %d:\n%s\nwant\n%s\n", id, have[id], w)
			}
		}
	}
	if n > 0 {
		fmt.Fprintf(&b, "%d differ", n)
	}
	return b.String()
}
