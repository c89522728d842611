//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// newTree prepares folio exec --tree for a shell that runs text, with its output in files.
func newTree(t *testing.T, text string) *child {
	t.Helper()
	return newChild(t, "exec", "--tree", "--", "sh", "-c", text)
}

func (c *child) awaitFile(name string) {
	c.t.Helper()
	if !testenv.Within(func() bool { return lines(c.path(name)) > 0 }) {
		c.t.Fatalf("no file %s", name)
	}
}

// Folio alone gets a signal, and passes it on.
func TestExecTreePassesSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2} {
		name := strings.TrimPrefix(unix.SignalName(sig), "SIG")
		c := newTree(t, "trap 'echo "+name+"; exit 7' "+name+"; echo >ready; while :; do sleep 0.01; done")
		c.start()
		c.awaitFile("ready")
		c.signal(sig)
		c.end(7)
		if got := c.stdout.String(); got != name+"\n" {
			t.Errorf("%v: standard output %q", sig, got)
		}
	}
}

// Folio ends as the program does.
func TestExecTreeEnds(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGKILL, unix.SIGINT, unix.SIGSEGV, unix.SIGPIPE} {
		c := newTree(t, fmt.Sprintf("kill -%d $$", sig))
		c.start()
		c.end(-1)
		if ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != sig || ws.CoreDump() {
			t.Errorf("%v: %v", sig, c.cmd.ProcessState)
		}
	}
	c := newTree(t, "exit 200")
	c.start()
	c.end(200)
}

// What folio was told to ignore, the program ignores.
func TestExecTreeIgnores(t *testing.T) {
	t.Parallel()
	c := newChild(t, "-c", `trap '' HUP USR1 PIPE; folio exec --tree -- grep SigIgn /proc/self/status; grep SigIgn /proc/self/status`)
	c.cmd.Path, c.cmd.Args[0] = "/bin/sh", "sh"
	c.start()
	c.end(0)
	if got := strings.Fields(c.stdout.String()); len(got) != 4 || got[1] != got[3] {
		t.Errorf("with folio, and without: %q", got)
	}
}

// Descriptors are passed on, as a jobserver of make has them.
func TestExecTreeDescriptors(t *testing.T) {
	t.Parallel()
	c := newChild(t, "-c", `folio exec --tree -- sh -c 'cat <&5; echo out >&6' 5<in 6>out`)
	c.cmd.Path, c.cmd.Args[0] = "/bin/sh", "sh"
	if err := os.WriteFile(c.path("in"), []byte("in\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start()
	c.end(0)
	if out, _ := os.ReadFile(c.path("out")); c.stdout.String() != "in\n" || string(out) != "out\n" {
		t.Errorf("%q, %q", &c.stdout, out)
	}
}

// A daemon that the program leaves behind goes on.
func TestExecTreeLeavesDaemons(t *testing.T) {
	t.Parallel()
	c := newTree(t, `(while ! [ -e go ]; do sleep 0.01; done; /bin/echo done >done.new; mv done.new done) >/dev/null 2>&1 & exit 3`)
	c.start()
	if err := c.cmd.Wait(); c.cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(c.path("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.awaitFile("done")
	if !testenv.Within(func() bool { return len(processesWith(c.mark)) == 0 }) {
		c.noProcesses()
	}
}

// As process 1 of a container, folio reaps what others leave behind, and ends with the exit code of
// the program.
func TestExecTreeIsProcess1(t *testing.T) {
	testenv.Root(t, "to make a PID namespace")
	t.Parallel()
	for text, code := range map[string]int{
		// A subshell leaves an orphan, which ends: it is there as a zombie until it is reaped.
		`(sh -c 'echo $$ >orphan' &); until [ -s orphan ]; do sleep 0.01; done; while [ -e /proc/$(cat orphan) ]; do sleep 0.01; done; cat /proc/1/comm; exit 5`: 5,
		`kill -TERM $$`: 143,
	} {
		c := newTree(t, "mount -t proc proc /proc && { "+text+"; }")
		c.cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
		c.cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS // without what would be mounted outside
		c.start()
		c.end(code)
		if got := c.stdout.String(); code == 5 && got != "folio\n" {
			t.Errorf("%q says %q", text, got)
		}
	}
}

// stopped says whether all programs of this name in a session have stopped.
func stopped(session int, name string) bool {
	pids, _ := procmem.FS{}.PIDs()
	for _, pid := range pids {
		s, err := procmem.FS{}.Stat(pid)
		if err == nil && s.Session == session && s.Comm == name && s.State != 'T' {
			return false
		}
	}
	return true
}

// The terminal stops and interrupts all of a job.
func TestExecTreeOnTerminal(t *testing.T) {
	bash, err := filepath.EvalSymlinks("/bin/bash")
	if err != nil {
		testenv.Missing(t, "bash: %v", err)
	}
	t.Parallel()
	p := newPTY(t)
	c := newChild(t, "--norc", "-i")
	c.cmd.Env = append(c.cmd.Env, "PS1=# ")
	c.cmd.Path, c.cmd.Args[0] = bash, "bash"
	p.attach(c)
	c.cmd.Stdout, c.cmd.Stderr = p.tty, p.tty
	p.start(c)
	seen := 0
	// await waits for texts one after the other. Nothing is typed before the prompt is there: a
	// shell may lose it when it changes the mode of the terminal.
	await := func(wants ...string) {
		t.Helper()
		for _, want := range wants {
			at := -1
			if !testenv.Within(func() bool { at = strings.Index(p.text()[seen:], want); return at >= 0 }) {
				t.Fatalf("no %q on the terminal after %q: %q", want, p.text()[:seen], p.text()[seen:])
			}
			seen += at + len(want)
		}
	}
	step := func(typed string, wants ...string) {
		t.Helper()
		if _, err := p.user.WriteString(typed); err != nil {
			t.Fatal(err)
		}
		await(wants...)
	}
	const prompt = "# "
	await(prompt)
	// suspend stops the job. A shell of it that was about to read would still take what is
	// typed until it has stopped.
	suspend := func() {
		t.Helper()
		step("\x1a", "Stopped", prompt)
		if !testenv.Within(func() bool { return stopped(c.cmd.Process.Pid, "sh") }) {
			t.Fatal("the job goes on")
		}
	}
	// They start no processes meanwhile: a vfork that is stopped before its exec holds up its parent,
	// with folio or without.
	step("folio exec --tree -- sh -c 'trap \"echo caught\" INT; echo be''gins; while :; do read x; done'\n", "begins")
	step("\x03", "caught")
	suspend()
	step("fg\n", "sh -c")
	step("\x03", "caught")
	suspend()
	// wait would not: to the shell the job may still be one that stopped.
	const end = "kill -9 %1; while [[ $(jobs) = *Stopped* ]]; do sleep 0.1; done; "
	step(end+"echo it is o''ver\n", "it is over", prompt)
	step("folio exec --tree -- sh -c 'echo re''ads; read line; echo \"<$line>\"'\n", "reads")
	step("words\n", "<words>", prompt)
	step("folio exec --tree -- bash --norc -i\n", prompt)
	step("echo in''ner\n", "inner", prompt)
	step("sh -c 'echo st''arted; while :; do read x; done'\n", "started")
	suspend()
	step(end+"echo stopped no mo''re\n", "stopped no more", prompt)
	step("exit\n", "exit", prompt)
	step("echo out''er\n", "outer", prompt)
	step("exit\n")
	defer func() {
		if t.Failed() {
			t.Logf("terminal: %q", p.text())
		}
	}()
	c.end(0)
}
