package trial

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// What a program leaves behind is ended and counted. Every trial's helper run
// checks that no process is left.
func TestLeftovers(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	for _, c := range []struct {
		name   string
		script string
		want   int // at least, where processes come and go
		exact  bool
	}{
		{"nothing", "true", 0, true},
		{"waited for", "sleep 0.01 & wait", 0, true},
		{"in the background", "sleep 1000 & true", 1, true},
		{"several", "sleep 1000 & sleep 1000 & sleep 1000 & true", 3, true},
		{"own session", "setsid sh -c ': >$0; exec sleep 1000' MARKER & while [ ! -e MARKER ]; do :; done", 1, true},
		{"daemon", "(setsid sh -c 'exec sleep 1000 <&- >&- 2>&-' &) & wait", 1, true},
		{"three generations", `sh -c "sh -c 'sh -c \": >MARKER; exec sleep 1000\" & wait' & wait" & while [ ! -e MARKER ]; do :; done`, 3, true},
		{"deaf to TERM", "sh -c 'trap \"\" TERM; touch $0; while :; do sleep 0.01; done' MARKER & while [ ! -e MARKER ]; do :; done", 1, false},
		{"stopped", "sleep 1000 & kill -STOP $!", 1, true},
		{"main thread gone", roleLine("headless") + " MARKER & while [ ! -e MARKER ]; do sleep 0.01; done", 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := runOK(t, shell(strings.ReplaceAll(c.script, "MARKER", Quote(marker(t)))), Setting{})
			if s.Leftovers < c.want || (c.exact && s.Leftovers != c.want) {
				t.Errorf("%d leftovers counted, want %d", s.Leftovers, c.want)
			}
			if (s.Outlived > 0) != (s.Leftovers > 0) || s.Span() != s.Wall+s.Outlived {
				t.Errorf("%d processes outlived the command, by %v s of %v s", s.Leftovers, s.Outlived, s.Span())
			}
		})
	}
}

// A tree that forks while it is being ended. It ignores TERM, and ends by itself
// after a minute should it win.
const forkBomb = `trap '' TERM
f() {
	if [ $1 -eq 0 ]; then
		n=0; while [ $n -lt 6000 ]; do sleep 0.01 & wait; n=$((n+1)); done
	else
		f $(($1-1)) & f $(($1-1)) & wait
	fi
}
`

func TestForkBomb(t *testing.T) {
	testenv.Long(t)
	if testenv.Apart(t) {
		return
	}
	t.Run("left behind", func(t *testing.T) {
		if s := runOK(t, shell(forkBomb+"f 5 & sleep 0.1"), Setting{}); s.Leftovers < 1 {
			t.Errorf("%d leftovers counted", s.Leftovers)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		testenv.Long(t)
		p := shell(forkBomb + "echo begun; f 5")
		if s := runOverdue(t, p, 200*time.Millisecond, "begun"); !s.TimedOut || s.Signal != "SIGKILL" {
			t.Errorf("%+v", s)
		}
	})
	t.Run("canceled", func(t *testing.T) {
		testenv.Long(t)
		if _, err := runUntil(t, shell(forkBomb+"echo ready; f 5")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	// Each process of the chain forks the next and ends: a look at all processes
	// finds dead ones, and misses the one that lives.
	t.Run("chain", func(t *testing.T) {
		testenv.Long(t)
		script := filepath.Join(t.TempDir(), "chain.sh")
		if err := os.WriteFile(script, []byte(`[ $1 -eq 0 ] || sh "$0" $(($1-1)) &`), 0o600); err != nil {
			t.Fatal(err)
		}
		s := runOK(t, shell("trap '' TERM; sh "+Quote(script)+" 20000"), Setting{})
		if s.Leftovers < 1 {
			t.Errorf("%d leftovers counted", s.Leftovers)
		}
	})
}

func TestTimeout(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	p := shell("echo begun; sleep 1000 & sleep 1000")
	s := runOverdue(t, p, 100*time.Millisecond, "begun")
	if !s.TimedOut || s.OverMemory || s.Failure != fmt.Sprint("took longer than ", p.Timeout) || s.Signal != "SIGTERM" || s.Tail != "begun\n" {
		t.Errorf("%+v", s)
	}
	// A program that obeys in its own way is overdue all the same.
	p = shell("trap 'exit 0' TERM; echo begun; while :; do sleep 0.01; done")
	if s := runOverdue(t, p, 100*time.Millisecond, "begun"); !s.TimedOut || s.OK() || s.ExitCode == nil || *s.ExitCode != 0 {
		t.Errorf("%+v", s)
	}
	p = shell("trap '' TERM; echo begun; while :; do sleep 0.01; done")
	if s := runOverdue(t, p, 100*time.Millisecond, "begun"); !s.TimedOut || s.Signal != "SIGKILL" {
		t.Errorf("%+v", s)
	}
	p = shell("true")
	p.Timeout = time.Hour
	runOK(t, p, Setting{})
}

func TestMaxMemory(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	for name, p := range map[string]*subject{
		"one process":   role("touch", "150", "60000"),
		"two processes": role("pair", "75", "60000"),
		"deaf to TERM":  shell("trap '' TERM; " + roleLine("touch", "150", "60000") + "; :"),
	} {
		p.MaxMemory = 120 * mib
		p.Timeout = time.Minute // so that a failure ends
		s := run(t, p, Setting{})
		if !s.OverMemory || s.TimedOut || s.Failure != "ended: its memory passed 120MiB" {
			t.Errorf("%s: %+v", name, s)
		}
		if got, ok := s.MostMemory(); !ok || got <= 120*mib {
			t.Errorf("%s: ended at %v bytes", name, got)
		}
	}
	p := role("touch", "20", "50")
	p.MaxMemory = 500 * mib
	runOK(t, p, Setting{})
}

func TestCancel(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	for _, script := range []string{
		"echo ready; sleep 1000",
		"sleep 1000 & setsid sleep 1000 & echo ready; wait",
		"trap '' TERM; echo ready; while :; do sleep 0.01; done",
	} {
		s, err := runUntil(t, shell(script))
		if s != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: sample %v, error %v", script, s, err)
		}
	}
}

// What folio's process had running before a trial is not the program's, nor is
// what that starts meanwhile.
func TestForeignProcessesStay(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo pid $!; read x; sleep 1000 & echo pid $!; wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	outPipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(outPipe)
	pids := []int{cmd.Process.Pid}
	next := func() {
		text, err := drain(out, "pid ")
		if err != nil {
			t.Error(err)
			return
		}
		pid, _ := strconv.Atoi(text)
		pids = append(pids, pid)
	}
	next()
	p := shell("sleep 1000 & echo ready; read x; :")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p.Stdin = r
	p.Stdout = onOutput("ready", func() {
		fmt.Fprintln(in, "go")
		next()
		w.Close()
	})
	s, err := p.Run(t.Context(), Setting{})
	if err != nil || s.Leftovers != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if len(pids) != 3 {
		t.Fatalf("processes %v", pids)
	}
	for _, pid := range pids {
		if st, err := (procmem.FS{}).Stat(pid); err != nil || st.Zombie() {
			t.Errorf("foreign process %d was ended: %v", pid, err)
		}
	}
	for _, pid := range livingBelow(t) {
		if pid != pids[0] && pid != pids[1] && pid != pids[2] {
			t.Errorf("process %d of the program is left", pid)
		}
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	_ = cmd.Wait()
	EndAll() // reaps
	checkNoneLeft(t)
}
