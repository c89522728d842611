package spawn

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// kills is how often TestKilled kills: more on request.
var kills = flag.Int("kills", 50, "how many starters TestKilled kills")

// A program sees no difference between being started by the stub and by a fork: what
// it inherits is the same, and nothing of the stub is left in it.
func TestSameProgram(t *testing.T) {
	needStub(t)
	extra, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	// One that a shell gave folio with 9</dev/null: programs get it as they would
	// without folio.
	if err := unix.Dup3(int(extra.Fd()), 99, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(99)
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	dir := t.TempDir()
	for name, change := range map[string]func(p *Program){
		"plain":       func(*Program) {},
		"no THP":      func(p *Program) { p.NoTHP = true },
		"directory":   func(p *Program) { p.Dir = dir },
		"environment": func(p *Program) { p.Env = []string{roleEnv + "=1", "A=1", "A=2", "B=", "C"} },
		"arguments":   func(p *Program) { p.Argv = append(p.Argv, "", "a b", strings.Repeat("x", 100<<10)) },
		"no argv[0]":  func(p *Program) { p.Argv[0] = "" },
		"one stream":  func(p *Program) { p.Files[2] = p.Files[0] },
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]map[string]any{}
			for way, prepare := range ways {
				p := role("describe")
				change(p)
				text, ws, _ := output(t, p, prepare)
				d := map[string]any{}
				if err := json.Unmarshal([]byte(text), &d); err != nil || ws != 0 {
					t.Fatalf("%s: status %x, %v: %s", way, ws, err, text)
				}
				fds := d["fds"].(map[string]any)
				delete(fds, "1") // a pipe of its own
				if fds["99"] != os.DevNull {
					t.Errorf("%s: descriptors %v", way, fds)
				}
				seen[way] = d
			}
			for way, d := range seen {
				for _, key := range slices.Sorted(maps.Keys(seen["fork"])) {
					if a, b := seen["fork"][key], d[key]; !reflect.DeepEqual(a, b) {
						t.Errorf("%s: %v when forked, %v by the %s", key, a, b, way)
					}
				}
			}
			if got := seen["stub"]["status THP_enabled"]; got != nil && (got == "0") != (name == "no THP") {
				t.Errorf("THP_enabled is %v", got)
			}
		})
	}
	checkNoneLeft(t)
}

// What cannot be started fails with the same error in all ways.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	busy := copyOf(t, 0o755)
	f, err := os.OpenFile(busy, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, c := range map[string]struct {
		change func(p *Program)
		want   error // nil: any, but the same
	}{
		"missing":        {func(p *Program) { p.Path = filepath.Join(dir, "missing") }, unix.ENOENT},
		"not executable": {func(p *Program) { p.Path = file("plain", "#!/bin/sh\n", 0o600) }, unix.EACCES},
		"no program":     {func(p *Program) { p.Path = file("text", "just text\n", 0o700) }, unix.ENOEXEC},
		"no loader":      {func(p *Program) { p.Path = file("lost", "#!/nonexistent/interpreter\n", 0o700) }, unix.ENOENT},
		"directory":      {func(p *Program) { p.Path = dir }, unix.EACCES},
		"below a file":   {func(p *Program) { p.Path = "/dev/null/x" }, unix.ENOTDIR},
		"being written":  {func(p *Program) { p.Path = busy }, unix.ETXTBSY},
		"too long":       {func(p *Program) { p.Argv = append(p.Argv, strings.Repeat("x", 1<<20)) }, unix.E2BIG},
		"null byte":      {func(p *Program) { p.Argv = append(p.Argv, "a\x00b") }, unix.EINVAL},
		"no directory":   {func(p *Program) { p.Dir = filepath.Join(dir, "missing") }, unix.ENOENT},
	} {
		if name == "being written" && kernelBefore(6, 13) {
			continue // 6.11 and 6.12 do not say so
		}
		for way, prepare := range ways {
			p := role("ids")
			c.change(p)
			proc, err := prepare(p)
			if err == nil {
				_, err = proc.Start()
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%s, %s: %v, want %v", name, way, err, c.want)
			}
		}
	}
	checkNoneLeft(t)
	if stubOff.Load() {
		t.Error("the stub is not used any more")
	}
}

func kernelBefore(major, minor int) bool {
	var u unix.Utsname
	var a, b int
	if err := unix.Uname(&u); err != nil {
		return false
	}
	_, _ = fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &a, &b)
	return a < major || a == major && b < minor
}

// The kernel's account of a program that the stub started is the program's own: it
// equals what the program itself last saw, though this process is far larger.
func TestAccounts(t *testing.T) {
	needStub(t)
	large := make([]byte, 100<<20)
	for i := 0; i < len(large); i += 4096 {
		large[i] = 1
	}
	const mib = 1 << 10 // in KiB
	for _, c := range []struct {
		kib int
		way string
	}{{0, "stub"}, {3 * mib, "stub"}, {30 * mib, "stub"}, {0, "stub, traced"}, {30 * mib, "stub, traced"}} {
		kib := c.kib
		text, ws, ru := output(t, role("usage", fmt.Sprint(kib)), ways[c.way])
		var peak, faults int64
		if _, err := fmt.Sscan(text, &peak, &faults); err != nil || ws != 0 {
			t.Fatalf("status %x, %v: %q", ws, err, text)
		}
		// To end takes a few pages, and the kernel counts those of each processor
		// in batches.
		batch := int64(4*max(32, 2*runtime.NumCPU())) * int64(os.Getpagesize()>>10)
		maxRSS, minorFaults := int64(ru.Maxrss), int64(ru.Minflt) // 32 bits on some machines
		if maxRSS < peak || maxRSS > peak+batch || peak < int64(kib) || maxRSS > int64(kib)+50*mib {
			t.Errorf("%s, %d KiB touched: the kernel says %d KiB, the program %d", c.way, kib, maxRSS, peak)
		}
		if minorFaults < faults || minorFaults > faults+200 {
			t.Errorf("%s, %d KiB touched: the kernel says %d page faults, the program %d", c.way, kib, minorFaults, faults)
		}
	}
	runtime.KeepAlive(large)
}

// What the process used before it is the program is little, and known.
func TestUsed(t *testing.T) {
	needStub(t)
	proc, err := role("ids").Prepare()
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := proc.PID()
	st, err := procmem.FS{}.Stat(pid)
	used := proc.Used()
	status, _ := procmem.FS{}.Status(pid)
	proc.Abort()
	// It tells a moment before it waits: saying so may take a page fault or two.
	if err != nil || uint64(used.Minflt) > st.MinFlt || st.MinFlt-uint64(used.Minflt) > 2 || used.Minflt > 20 {
		t.Errorf("%d page faults, the kernel says %d, %v", used.Minflt, st.MinFlt, err)
	}
	if status.VmHWM == nil || *status.VmHWM > 20*uint64(os.Getpagesize()) {
		t.Errorf("the peak RSS of the waiting stub is %v", status.VmHWM)
	}
	checkNoneLeft(t)
}

// A process that waits has the id of the program, does nothing, and ends when it is
// given up.
func TestAbort(t *testing.T) {
	needStub(t)
	mark := filepath.Join(t.TempDir(), "mark")
	p := &Program{Path: "/bin/sh", Argv: []string{"sh", "-c", ": >" + mark}, Env: os.Environ(), Files: null()}
	for range 20 {
		proc, err := p.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		pid, _ := proc.PID()
		if st, err := (procmem.FS{}).Stat(pid); err != nil || st.PPID != os.Getpid() || st.Zombie() {
			t.Errorf("the process that waits: %+v, %v", st, err)
		}
		proc.Abort()
		checkNoneLeft(t)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the program ran")
	}
	p.PrepareFork().Abort()
}

// A signal that comes before the program is there ends it, as it would have a moment
// later; one that the program was told to ignore does not.
func TestSignalWhileWaiting(t *testing.T) {
	needStub(t)
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	for _, way := range []string{"stub", "stub, traced"} {
		for sig, want := range map[syscall.Signal]unix.WaitStatus{
			syscall.SIGINT: 2, syscall.SIGTERM: 15, syscall.SIGHUP: 0, syscall.SIGTRAP: 5 | 0x80, syscall.SIGKILL: 9,
		} {
			p := &Program{Path: "/bin/true", Argv: []string{"true"}, Env: os.Environ(), Files: null()}
			proc, err := ways[way](p)
			if err != nil {
				t.Fatal(err)
			}
			pid, _ := proc.PID()
			if err := unix.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
			if _, err = proc.Start(); err != nil {
				t.Errorf("%s, %v: %v", way, sig, err)
			}
			if ws := wait(pid); ws&^0x80 != want&^0x80 { // with a core file or without
				t.Errorf("%s, %v: status %x, want %x", way, sig, ws, want)
			}
		}
	}
	checkNoneLeft(t)
}

// A process that is stopped before its exec stays so until it is continued, traced
// or not.
func TestStoppedWhileWaiting(t *testing.T) {
	needStub(t)
	for _, way := range []string{"stub", "stub, traced"} {
		p := &Program{Path: "/bin/true", Argv: []string{"true"}, Env: os.Environ(), Files: null()}
		proc, err := ways[way](p)
		if err != nil {
			t.Fatal(err)
		}
		pid, _ := proc.PID()
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		started := make(chan error, 1)
		go func() { _, err := proc.Start(); started <- err }()
		select {
		case err := <-started:
			t.Errorf("%s: it started though it was stopped: %v", way, err)
		case <-time.After(50 * time.Millisecond):
			if err := unix.Kill(pid, unix.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if err := <-started; err != nil {
				t.Errorf("%s: %v", way, err)
			}
		}
		if ws := wait(pid); ws != 0 {
			t.Errorf("%s: status %x", way, ws)
		}
	}
	checkNoneLeft(t)
}

// An error at the exec ends the process before its first instruction.
func TestErrorAtExec(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	refused := errors.New("refused")
	for _, way := range []string{"stub", "fork"} {
		p := &Program{Path: "/bin/sh", Argv: []string{"sh", "-c", ": >" + mark}, Env: os.Environ(), Files: null()}
		p.AtExec = func(int) error { return refused }
		proc, err := ways[way](p)
		if err != nil {
			t.Fatal(err)
		}
		if pid, err := proc.Start(); pid != 0 || err != refused {
			t.Errorf("%s: process %d, %v", way, pid, err)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the program ran")
	}
	if err := MayTrace(); err != nil {
		t.Errorf("MayTrace: %v", err)
	}
	checkNoneLeft(t)
}

// Nothing outlives a process that is killed while it starts programs, at whatever
// moment.
func TestKilled(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil { // its orphans come to us
		t.Fatal(err)
	}
	n := *kills
	if testing.Short() {
		n = min(n, 10)
	}
	for range n {
		cmd := roleCmd("starter")
		in, out := testenv.Start(t, cmd)
		if _, err := out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		in.Close()
		testenv.Eventually(t, "a process outlives the one that started it", func() bool {
			for {
				var ws unix.WaitStatus
				if pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil); err != nil {
					return err == unix.ECHILD
				} else if pid == 0 {
					return false
				}
			}
		})
	}
}

// Programs that are setuid gain their rights.
func TestSetuid(t *testing.T) {
	needStub(t)
	testenv.Root(t, "to make a program setuid")
	path := copyOf(t, 0o755|os.ModeSetuid)
	cmd := exec.Command(copyOf(t, 0o755), "start", path)
	cmd.Env = environ()
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "65533 0\n" {
		t.Errorf("a setuid program of root says %q, %v", out, err)
	}
}

// Where files in memory must not be executed, programs are forked.
func TestNoExec(t *testing.T) {
	needStub(t)
	testenv.Root(t, "for a PID namespace")
	if _, err := os.Stat("/proc/sys/vm/memfd_noexec"); err != nil {
		testenv.Missing(t, "vm.memfd_noexec (Linux 6.3)")
	}
	cmd := roleCmd("noexec")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if want := "stub false\n0 0\nexit 0\n"; err != nil || string(out) != want+want {
		t.Errorf("%q, %v", out, err)
	}
	data, err := os.ReadFile("/proc/sys/vm/memfd_noexec")
	if err != nil || strings.TrimSpace(string(data)) == "2" {
		t.Errorf("memfd_noexec is %q, %v", data, err)
	}
}

// A program that is started costs no descriptor.
func TestNothingIsLeftOpen(t *testing.T) {
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	some := func() {
		for _, prepare := range ways {
			output(t, role("ids"), prepare)
			p := role("ids")
			p.Path = "/nonexistent"
			proc, err := prepare(p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := proc.Start(); err == nil {
				t.Error("a program that does not exist was started")
			}
			if proc, err = prepare(role("ids")); err != nil {
				t.Fatal(err)
			}
			proc.Abort()
		}
	}
	some() // the first opens what the process keeps
	before := count()
	for range 3 {
		some()
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors became %d", before, after)
	}
}
