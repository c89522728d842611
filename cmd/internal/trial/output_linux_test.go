package trial

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

func TestStdin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cat := func() *subject {
		out.Reset()
		return &subject{Program: Program{Command: []string{"cat"}, Stdout: &out}}
	}

	runOK(t, cat(), Setting{})
	if out.Len() != 0 {
		t.Errorf("without an input the program read %q", &out)
	}

	stdin, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	p := cat()
	p.Input, p.Stdin = file, stdin
	for range 2 { // every trial reads it from the start
		out.Reset()
		runOK(t, p, Setting{})
		if out.String() != "one\ntwo\n" {
			t.Errorf("the program read %q from its input file", &out)
		}
	}

	p = cat()
	p.Stdin = stdin // read by nobody so far: Input came first
	runOK(t, p, Setting{})
	if out.String() != "one\ntwo\n" {
		t.Errorf("the program read %q from its standard input", &out)
	}
	out.Reset()
	runOK(t, p, Setting{})
	if out.Len() != 0 {
		t.Errorf("the program read %q from an input that was at its end", &out)
	}
	if _, err := stdin.Stat(); err != nil {
		t.Errorf("the input was closed: %v", err)
	}
}

func TestStdinPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data := randomBytes(1, 1<<20)
	go func() {
		defer w.Close()
		_, _ = w.Write(data)
	}()
	var out bytes.Buffer
	runOK(t, &subject{Program: Program{Command: []string{"cat"}, Stdin: r, Stdout: &out}}, Setting{})
	if !bytes.Equal(out.Bytes(), data) {
		t.Errorf("%d bytes became %d, or others", len(data), out.Len())
	}
}

func TestOutputByteForByte(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	const size = 1 << 20
	for _, trace := range []bool{false, true} {
		var out, errOut bytes.Buffer
		p := role("binary", "1", strconv.Itoa(size))
		p.Stdout, p.Stderr, p.ReadGC = &out, &errOut, trace
		runOK(t, p, Setting{GOGC: Off})
		for i, got := range [][]byte{out.Bytes(), errOut.Bytes()} {
			if want := randomBytes(uint64(1+i), size); !bytes.Equal(got, want) {
				t.Errorf("trace %v, stream %d: %d bytes became %d, first difference at %d", trace, i+1, size, len(got), difference(got, want))
			}
		}
	}
}

func difference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Nothing is added to the output, nor to the environment, and no cycle is missed.
func TestGCIsRead(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	needTree(t)
	for _, asked := range []bool{false, true} {
		var out, errOut bytes.Buffer
		p := role("collect", "4", "100")
		p.ReadGC, p.Stdout, p.Stderr = true, &out, &errOut
		if asked {
			p.Env = setenv(p.Env, "GODEBUG=gctrace=1")
		}
		s := runOK(t, p, Setting{GOGC: "5"})
		n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(out.String(), "collections")))
		if err != nil {
			t.Fatalf("stdout %q: %v", &out, err)
		}
		if s.GCCycles == nil || *s.GCCycles != n {
			t.Errorf("asked %v: %v collections counted, the program had %d", asked, orNone(s.GCCycles), n)
		}
		if s.GCCounted != GCComplete || s.GCRuntimeCPU == nil || *s.GCRuntimeCPU <= 0 || s.GCShare != nil || s.GCPause == nil || s.HeapPeak == nil {
			t.Errorf("asked %v: figures of the GC %+v", asked, s)
		}
		if got := strings.Count(errOut.String(), " MB goal, "); got > 0 != asked {
			t.Errorf("asked %v: %d lines of a trace", asked, got)
		}
	}
}

// Where no exit is told, the figures are those of the last look, and this is said.
func TestGCIsReadWithoutListener(t *testing.T) {
	unlistened = true
	defer func() { unlistened = false }()
	var out bytes.Buffer
	p := role("collect", "4", "100")
	p.ReadGC, p.Stdout = true, &out
	s := runOK(t, p, Setting{GOGC: "5"})
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(out.String(), "collections")))
	if err != nil {
		t.Fatalf("%q: %v", &out, err)
	}
	if s.GCCounted == GCComplete || s.Uncounted == nil || s.GCCycles != nil && *s.GCCycles > n {
		t.Errorf("%q, %v cycles of %d, %v", s.GCCounted, orNone(s.GCCycles), n, s.Uncounted)
	}
	// The lines of a trace that the environment asks for say it.
	p.Env = setenv(p.Env, "GODEBUG=gctrace=1")
	var errOut bytes.Buffer
	p.Stderr = &errOut
	s = runOK(t, p, Setting{GOGC: "5"})
	if lines := strings.Count(errOut.String(), " MB goal, "); s.GCCycles == nil || *s.GCCycles > lines {
		t.Errorf("%v cycles, %d lines of a trace", orNone(s.GCCycles), lines)
	}
}

// A program to which the output belongs has the file itself, in the order in which it writes.
func TestDirectOutput(t *testing.T) {
	for _, traced := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "out")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p := shell("for i in 1 2 3; do echo out $i; echo err $i >&2; done; readlink /proc/self/fd/1; env | grep -c ^GODEBUG=")
		p.Stdout, p.Stderr, p.Direct, p.ReadGC = f, f, true, traced
		p.Env = slices.DeleteFunc(p.Env, func(kv string) bool { return envKey(kv) == "GODEBUG" })
		p.IgnoreExit = true // grep finds none
		run(t, p, Setting{})
		got, err := os.ReadFile(path)
		if want := "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n" + path + "\n0\n"; err != nil || string(got) != want {
			t.Errorf("traced %v: got %q, %v, want %q", traced, got, err, want)
		}
	}
}

func orNone(p *int) any {
	if p == nil {
		return "no"
	}
	return *p
}

// Only of a Go program is it known that there was no GC cycle.
func TestCollectorFiguresAreKnownOrNot(t *testing.T) {
	p := shell(":")
	p.ReadGC = true
	if s := runOK(t, p, Setting{}); s.GCCycles != nil || s.GCRuntimeCPU != nil || s.HeapPeak != nil {
		t.Errorf("a shell has figures of a collector: %+v", s)
	}
	p = role("touch", "0", "0")
	p.ReadGC = true
	if s := runOK(t, p, Setting{GOGC: Off}); s.GCCycles == nil || *s.GCCycles != 0 || s.GCRuntimeCPU == nil || s.HeapPeak == nil {
		t.Errorf("a Go program without a GC cycle has the figures %+v", s)
	}
	p.ReadGC = false
	if s := runOK(t, p, Setting{}); s.GCCycles != nil {
		t.Error("collections are known, and were not to be read")
	}
	// A Go program below a shell counts.
	p = shell(roleLine("collect", "1", "1"))
	p.ReadGC = true
	if s := runOK(t, p, Setting{}); s.GCCycles == nil || *s.GCCycles < 50 {
		t.Errorf("%v collections of a program that made 51", orNone(s.GCCycles))
	}
}

// A reader that leaves early ends the program as it would without folio.
func TestReaderLeaves(t *testing.T) {
	for _, lines := range []int{0, 1, 1000} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			defer r.Close()
			b := bufio.NewReader(r)
			for range lines {
				if line, err := b.ReadString('\n'); line != "y\n" || err != nil {
					t.Errorf("read %q, %v", line, err)
				}
			}
		}()
		s := run(t, &subject{Program: Program{Command: []string{"yes"}, Stdout: w}}, Setting{})
		if s.Signal != "SIGPIPE" {
			t.Errorf("after %d lines: signal %q, failure %q", lines, s.Signal, s.Failure)
		}
		<-read
		w.Close()
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// An output that cannot be written is folio's failure, not the program's.
func TestWriterFails(t *testing.T) {
	full := errors.New("disk full")
	for _, p := range []*subject{
		{Program: Program{Command: []string{"yes"}, Stdout: failingWriter{full}}},
		{Program: Program{Command: []string{"sh", "-c", "while echo x >&2; do :; done"}, Stderr: failingWriter{full}}},
		{Program: Program{Command: []string{"yes"}, Stdout: failingWriter{io.ErrShortWrite}}},
	} {
		_, err := p.Run(t.Context(), Setting{})
		checkNoneLeft(t)
		checkMessage(t, err, "pass the program's output on")
		if !errors.Is(err, full) && !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("error %v", err)
		}
	}
}

// All of it is there when Run returns, also of a trial that does not exist.
func TestOutputIsCompleteWhenRunReturns(t *testing.T) {
	p := shell("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; echo ready; exec sleep 1000")
	_, err := runUntil(t, p)
	if err == nil {
		t.Fatal("no error of a trial that was canceled")
	}
	// Without the lock of the writer: the race detector says if one still writes.
	out := p.Stdout.(*trigger).seen.String()
	if n := strings.Count(out, "\n"); n != 2001 || !strings.HasSuffix(out, "ready\n") {
		t.Errorf("%d lines, the last of them %q", n, out[max(0, len(out)-20):])
	}
}

// A process outside of the tree may hold the output open for ever: it was given
// the descriptor. That must not hold up the trial.
func TestOutputHeldOpenElsewhere(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	var held []*os.File
	out := onOutput("ready", func() {
		// The program's descriptor, by its name in /proc.
		for _, pid := range livingBelow(t) {
			if f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", pid), os.O_WRONLY, 0); err == nil {
				held = append(held, f)
			}
		}
	})
	p := shell("echo ready; sleep 0.2; echo end")
	p.Stdout = out
	s := runOK(t, p, Setting{})
	if len(held) == 0 {
		t.Skip("the descriptor could not be opened")
	}
	for _, f := range held {
		f.Close()
	}
	if out.seen.String() != "ready\nend\n" || s.Tail != "ready\nend\n" {
		t.Errorf("output %q", out.seen.String())
	}
}
