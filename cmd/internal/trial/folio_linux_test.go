package trial

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// The tests here have a folio of their own, a process that can be killed.

// If folio is killed so that it can do nothing, the kernel ends the program.
func TestFolioIsKilled(t *testing.T) {
	if err := becomeReaper(); err != nil { // to see what becomes of its orphans
		t.Fatal(err)
	}
	t.Run("plain", func(t *testing.T) { testFolioIsKilled(t) })
	t.Run("tree", func(t *testing.T) {
		needTree(t)
		testFolioIsKilled(t, "heap")
	})
}

func testFolioIsKilled(t *testing.T, words ...string) {
	cmd := roleCmd(append([]string{"folio", "sleep"}, words...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := drain(bufio.NewReader(out), "pid ")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := (procmem.FS{}).Stat(pid); err != nil || st.PPID != cmd.Process.Pid {
		t.Fatalf("the program runs as %+v, %v", st, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	testenv.Eventually(t, "the program outlives folio", func() bool { return len(livingBelow(t)) == 0 })
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil || ws.Signal() != unix.SIGKILL {
		t.Errorf("the program ended with %v, %v", ws, err)
	}
	EndAll() // the guard of a tree has ended, too, and is nobody's to reap but ours
	checkNoneLeft(t)
}

// A panic on any goroutine ends folio, after all that it started.
func TestFolioPanics(t *testing.T) {
	if err := becomeReaper(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := roleCmd("folio", "panic")
	cmd.Stderr = &out
	err := cmd.Run()
	living := livingBelow(t)
	if len(living) > 0 {
		t.Errorf("processes %v are left", living)
	}
	EndAll()
	if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(out.String(), "panic: the writer is broken") {
		t.Errorf("exit code %d (%v), output %s", code, err, &out)
	}
	checkNoneLeft(t)
}

func TestSignalIsForwarded(t *testing.T) {
	cmd := roleCmd("folio", "signal")
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	for _, step := range []struct {
		text string
		then func()
	}{{"ready", func() { _ = cmd.Process.Signal(unix.SIGTERM) }}, {"bye", func() {}}} {
		if _, err := drain(out, step.text); err != nil {
			t.Fatal(err)
		}
		step.then()
	}
	err = cmd.Wait()
	s := decodeSample(t, errOut.Bytes())
	if err != nil || s.ExitCode == nil || *s.ExitCode != 7 || s.Signal != "" || s.Leftovers != 0 {
		t.Errorf("%v: %s", err, &errOut)
	}
	checkNoneLeft(t)
}

func decodeSample(t *testing.T, data []byte) *Sample {
	t.Helper()
	s := &Sample{}
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return s
}

// Folio's own standard output may be closed: that must not kill folio.
func TestStandardOutputIsClosed(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	var errOut bytes.Buffer
	cmd := roleCmd("folio", "output")
	cmd.Stdout, cmd.Stderr = w, &errOut
	err = cmd.Run()
	w.Close()
	if err != nil {
		t.Fatalf("%v: %s", err, &errOut)
	}
	if s := decodeSample(t, errOut.Bytes()); s.Signal != "SIGPIPE" {
		t.Errorf("%s", &errOut)
	}
}

func TestSignals(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	for _, c := range []struct {
		name, script string
		first        []os.Signal // once the program is ready
		code         int         // -1 for none
		signal       string
	}{
		{"obeyed", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done", []os.Signal{unix.SIGTERM}, 7, ""},
		{"not caught", "echo ready; exec sleep 1000", []os.Signal{unix.SIGUSR2}, -1, "SIGUSR2"},
		{"other signal", "trap 'exit 8' USR1; echo ready; while :; do sleep 0.01; done", []os.Signal{unix.SIGUSR1}, 8, ""},
		{"ignored twice", "trap '' TERM; echo ready; while :; do sleep 0.01; done", []os.Signal{unix.SIGTERM, unix.SIGTERM}, -1, "SIGKILL"},
		{"a child ignores", "(trap '' TERM; while :; do sleep 0.01; done) & trap 'exit 7' TERM; echo ready; wait",
			[]os.Signal{unix.SIGTERM}, 7, ""},
		{"not of this system", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done", []os.Signal{strange{}, unix.SIGTERM}, -1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			signals := make(chan os.Signal, 2)
			p := shell(c.script)
			p.Signals = signals
			p.Stdout = onOutput("ready", func() {
				for _, s := range c.first {
					signals <- s
				}
			})
			s := run(t, p, Setting{})
			if c.name == "not of this system" { // it cannot be forwarded, but it counts: the second ends the program
				return
			}
			if (s.ExitCode == nil) != (c.code < 0) || (s.ExitCode != nil && *s.ExitCode != c.code) || s.Signal != c.signal || !s.Interrupted {
				t.Errorf("interrupted %v, exit code %v, signal %q: %s", s.Interrupted, orNone(s.ExitCode), s.Signal, s.Failure)
			}
		})
	}
}

// strange is a signal of no known system.
type strange struct{}

func (strange) Signal()        {}
func (strange) String() string { return "strange" }
