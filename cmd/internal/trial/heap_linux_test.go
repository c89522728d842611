package trial

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/codepatch"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// needHuge is for tests of what the kernel gives to programs that ask.
func needHuge(t *testing.T) {
	t.Helper()
	if err := WhyNotHuge(procmem.New(""), os.Environ()); err != nil {
		testenv.Missing(t, "huge pages: %v", err)
	}
	if thp, err := procmem.New("").THP(); err != nil || thp.Enabled.Selected != "madvise" {
		testenv.Missing(t, "THP in mode madvise (%v, %v)", thp.Enabled.Selected, err)
	}
}

// held is a program that holds a Go heap of some MiB, and says how much of its
// memory asks for huge pages.
func held(mib int, words ...string) *subject {
	return role(append([]string{"advised", fmt.Sprint(mib)}, words...)...)
}

// checkAdvised checks what the program said of itself.
func checkAdvised(t *testing.T, s *Sample, mib int, want bool) {
	t.Helper()
	var advised int
	if _, err := fmt.Sscanf(s.Tail, "advised %d", &advised); err != nil {
		t.Fatalf("%v: %q", err, s.Tail)
	}
	if got := advised >= mib<<20; got != want || !want && advised > 0 {
		t.Errorf("%d bytes ask for huge pages, want %d MiB: %v", advised, mib, want)
	}
}

// TestHeapAsks: under --thp heap the heap of a program asks for huge pages, and has
// one fault for each of them; under no other setting it does. Nothing else changes.
func TestHeapAsks(t *testing.T) {
	needHuge(t)
	for _, how := range []struct{ fork, alone bool }{{false, false}, {false, true}, {true, true}} {
		forkOnly, unlistened = how.fork, how.alone
		defer func() { forkOnly, unlistened = false, false }()
		if !how.alone {
			needTree(t)
		}
		plain := runOK(t, held(64), Setting{})
		checkAdvised(t, plain, 64, false)
		p := held(64)
		p.ReadGC = true
		if err := p.MayHeap(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			huge := runOK(t, p, Setting{THP: THPHeap})
			checkAdvised(t, huge, 64, true)
			if least := int64(64<<20/os.Getpagesize()) / 2; plain.MinorFaults-huge.MinorFaults < least {
				t.Errorf("%d page faults, and %d without huge pages", huge.MinorFaults, plain.MinorFaults)
			}
			if how.alone == (huge.GoChildren == nil) || how.alone && *huge.GoChildren != 0 || plain.GoChildren != nil {
				t.Errorf("Go children: %v, %v", huge.GoChildren, plain.GoChildren)
			}
			name := filepath.Base(p.Command[0])
			if want := []HeapPrograms{{Name: name, Execs: 1, Changed: 1}}; !how.alone && !slices.Equal(huge.Heaps, want) || how.alone && huge.Heaps != nil || plain.Heaps != nil || huge.HeapsBelow {
				t.Errorf("%v, %v", huge.Heaps, plain.Heaps)
			}
		}
	}
}

// TestHeapOfSampledProgram: samples and the trace are as complete as without.
func TestHeapOfSampledProgram(t *testing.T) {
	needHuge(t)
	p := role("advised", "16", "collect")
	p.ReadGC, p.Profile = true, 997
	s := runOK(t, p, Setting{THP: THPHeap})
	checkAdvised(t, s, 16, true)
	if s.GCCounted != GCComplete || s.GCCycles == nil || *s.GCCycles < 1 || s.PeakRSSSource != Kernel {
		t.Errorf("trace %q, cycles %v, peak RSS of %q", s.GCCounted, s.GCCycles, s.PeakRSSSource)
	}
}

// needTree is for tests of trees of which every program is seen.
func needTree(t *testing.T) {
	t.Helper()
	if err := SeesTree(); err != nil {
		testenv.Missing(t, "a listener: %v", err)
	}
	if err := MayTrace(); err != nil {
		testenv.Missing(t, "ptrace: %v", err)
	}
}

// TestHeapOfTree: every Go program of a tree has its heap on huge pages, below programs
// that are not Go too; they and only they are in the accounts.
func TestHeapOfTree(t *testing.T) {
	needHuge(t)
	needTree(t)
	for _, c := range []struct {
		command string
		least   int64 // bytes that ask for huge pages, of each
		want    []HeapPrograms
	}{
		{"exec \"$0\" \"$@\"", 1, []HeapPrograms{{"", 1, 1, false, ""}, {"sh", 1, 0, true, ""}}},
		{"\"$0\" \"$@\"; \"$0\" \"$@\"; no-such-command; true", 2, []HeapPrograms{{"", 2, 2, false, ""}, {"sh", 1, 0, true, ""}}},
		{"(\"$0\" \"$@\") & wait; env \"$0\" \"$@\"", 2, []HeapPrograms{{"", 2, 2, false, ""}, {"env", 1, 0, true, ""}, {"sh", 1, 0, true, ""}}},
	} {
		p := held(32)
		name := filepath.Base(p.Command[0])
		c.want[0].Name = name
		p.Command = append([]string{"sh", "-c", c.command}, p.Command...)
		if err := p.MayHeap(); err != nil {
			t.Fatal(err)
		}
		plain := runOK(t, p, Setting{})
		s := runOK(t, p, Setting{THP: THPHeap})
		sh := filepath.Base(must(filepath.EvalSymlinks(must(LookPath("sh")))))
		for i := range c.want {
			if c.want[i].Name == "sh" {
				c.want[i].Name = sh
			}
		}
		slices.SortStableFunc(c.want, func(a, b HeapPrograms) int {
			if a.NotGo && b.NotGo {
				return strings.Compare(a.Name, b.Name)
			}
			return 0
		})
		if !slices.Equal(s.Heaps, c.want) {
			t.Errorf("%s: %+v, want %+v", c.command, s.Heaps, c.want)
		}
		if !s.HeapsBelow {
			t.Errorf("%s: no program below it was changed", c.command)
		}
		if s.GoChildren != nil || s.Leftovers > 0 {
			t.Errorf("%s: %v Go children, %d left", c.command, s.GoChildren, s.Leftovers)
		}
		if saved := plain.MinorFaults - s.MinorFaults; saved < c.least*32<<20/int64(os.Getpagesize())/2 {
			t.Errorf("%s: %d page faults, and %d without huge pages", c.command, s.MinorFaults, plain.MinorFaults)
		}
		checkNoneLeft(t)
	}
}

func must(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

// TestHeapOfLeftover: what a program leaves behind is ended, the guard of the tree is no part of it.
func TestHeapOfLeftover(t *testing.T) {
	needHuge(t)
	needTree(t)
	s := runOK(t, shell("sleep 1000 & exit 0"), Setting{THP: THPHeap})
	if s.Leftovers != 1 {
		t.Errorf("%d left", s.Leftovers)
	}
	checkNoneLeft(t)
	p := shell("sleep 1000")
	p.Timeout = 200 * time.Millisecond
	s, err := p.Run(t.Context(), Setting{THP: THPHeap})
	if err != nil || !s.TimedOut {
		t.Errorf("%+v, %v", s, err)
	}
	checkNoneLeft(t)
	if s, err := shell("kill -9 $$").Run(t.Context(), Setting{THP: THPHeap}); err != nil || s.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := shell("exit 7").Run(t.Context(), Setting{THP: THPHeap}); err != nil || s.ExitCode == nil || *s.ExitCode != 7 {
		t.Errorf("%+v, %v", s, err)
	}
	checkNoneLeft(t)
}

// TestHeapOfChildren: without a listener, Go programs that the program starts run as they
// are, and are counted.
func TestHeapOfChildren(t *testing.T) {
	needHuge(t)
	unlistened = true
	defer func() { unlistened = false }()
	p := held(8, "child")
	p.ReadGC = true
	s := runOK(t, p, Setting{THP: THPHeap})
	if s.GoChildren == nil || *s.GoChildren < 1 || *s.GoChildren > 2 {
		t.Errorf("%v Go children", s.GoChildren)
	}
	if !strings.Contains(s.Tail, "child advised 0\n") {
		t.Errorf("the child says %q", s.Tail)
	}
}

// TestHeapRefused: a program that cannot have its heap on huge pages is not run.
func TestHeapRefused(t *testing.T) {
	unlistened = true
	defer func() { unlistened = false }()
	mark := filepath.Join(t.TempDir(), "mark")
	p := shell(": >" + mark)
	for _, err := range []error{p.MayHeap(), func() error { _, err := p.Run(t.Context(), Setting{THP: THPHeap}); return err }()} {
		if err == nil || !strings.HasPrefix(err.Error(), "--thp heap: sh: not a Go program") {
			t.Errorf("%v", err)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran")
	}
	checkNoneLeft(t)
}

// TestHeapOfCopy: a copy that folio patch made needs nothing.
func TestHeapOfCopy(t *testing.T) {
	needHuge(t)
	p := held(16)
	copied := filepath.Join(t.TempDir(), "prog.huge")
	if _, err := codepatch.Copy(p.Command[0], copied); err != nil {
		t.Fatal(err)
	}
	p.Command[0] = copied
	if err := p.MayHeap(); !errors.Is(err, ErrOwnHeap) {
		t.Errorf("%v", err)
	}
	for _, thp := range []THP{THPHeap, THPSystem} {
		checkAdvised(t, runOK(t, p, Setting{THP: thp}), 16, true)
	}
}

// TestHeapOfChangedProgram: a program that was replaced between two trials is not the
// one that is measured, and does not run.
func TestHeapOfChangedProgram(t *testing.T) {
	p := held(8)
	data, err := os.ReadFile(p.Command[0])
	if err != nil {
		t.Fatal(err)
	}
	p.Command[0] = filepath.Join(t.TempDir(), "prog")
	replace := func() {
		if err := os.WriteFile(p.Command[0]+".new", data, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(p.Command[0]+".new", p.Command[0]); err != nil {
			t.Fatal(err)
		}
	}
	replace()
	p.Heap = ReadHeap(p.Command[0])
	runOK(t, p, Setting{THP: THPHeap})
	replace()
	if s, err := p.Run(t.Context(), Setting{THP: THPHeap}); err == nil || !strings.Contains(err.Error(), "another file was executed") {
		t.Errorf("%+v, %v", s, err)
	}
	checkNoneLeft(t)
}

// roleAdvised (MiB, collect or child) holds a Go heap and says how much memory asks
// for huge pages.
func roleAdvised(words []string) error {
	b := make([]byte, number(words, 0)<<20)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	data, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return err
	}
	size, sum := 0, 0 // in KiB
	for line := range strings.Lines(string(data)) {
		_, _ = fmt.Sscanf(line, "Size: %d kB", &size)
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && slices.Contains(strings.Fields(flags), "hg") {
			sum += size
		}
	}
	fmt.Println("advised", sum<<10)
	runtime.KeepAlive(b)
	switch strings.Join(words[1:], " ") {
	case "collect":
		runtime.GC()
	case "child":
		cmd := roleCmd("advised", "1")
		cmd.Stderr = os.Stderr // where its trace lines come in pieces, between which its output could fall
		out, err := cmd.Output()
		fmt.Printf("child %s", out)
		// It is looked at while it lives.
		return errors.Join(err, roleCmd("touch", "1", "200").Run())
	}
	return nil
}
