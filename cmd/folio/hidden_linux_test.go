package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// hidden runs folio with a /proc of its own: hidden FILESYSTEM OPTIONS UID ARGS...
func hidden() {
	runtime.LockOSThread() // the namespace is one of a thread
	check(unix.Unshare(unix.CLONE_NEWNS))
	check(unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	exe, uid := "/proc/self/exe", os.Args[3] // may be in a directory that is closed for others
	if os.Args[1] != "proc" {
		var err error
		exe, err = os.Executable()
		check(err)
	}
	check(unix.Mount("none", "/proc", os.Args[1], 0, os.Args[2]))
	id, err := strconv.Atoi(uid)
	check(err)
	cmd := exec.Command(exe)
	cmd.Args = append([]string{"folio"}, os.Args[4:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}}
	if err := cmd.Run(); err != nil {
		os.Exit(max(cmd.ProcessState.ExitCode(), 1))
	}
}

// What hides a process is said, not that there is none.
func TestHiddenProcess(t *testing.T) {
	testenv.Root(t, "to mount /proc in a namespace of its own")
	const nobody = "65534"
	sleep := func(uid uint32) string {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return strconv.Itoa(cmd.Process.Pid)
	}
	others, own := sleep(0), sleep(65534)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folio := func(filesystem, options, uid string, args ...string) (code int, stdout, stderr string) {
		cmd := exec.Command(self)
		cmd.Args = append([]string{"hidden", filesystem, options, uid}, args...)
		cmd.Env = append(os.Environ(), raceEnv, "HOME=/nonexistent", "XDG_CACHE_HOME=")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode(), out.String(), errs.String()
	}
	const needs = `: needs CAP_SYS_PTRACE (sudo; or sudo setcap cap_sys_ptrace+ep "$(command -v folio)"; or docker run --cap-add SYS_PTRACE)`
	for _, c := range []struct{ filesystem, options, uid, process, list string }{
		{"proc", "hidepid=1", nobody, "/proc is mounted with hidepid=noaccess, which hides this process of another user" + needs, "/proc is mounted with hidepid=noaccess, which hides processes of other users" + needs},
		{"proc", "hidepid=2", nobody, "/proc is mounted with hidepid=invisible, which hides this process of another user" + needs, "/proc is mounted with hidepid=invisible, which hides processes of other users" + needs},
		{"tmpfs", "size=4k", "0", unmountedProc, unmountedProc},
	} {
		t.Run(c.filesystem+" "+c.options, func(t *testing.T) {
			if testenv.Race && c.filesystem != "proc" {
				t.Skip("the race detector warns of a /proc that is not there, among what folio says")
			}
			oom := []string{"inspect", "inspect", "--oom", "--save", t.TempDir()}
			for _, of := range [][]string{{others, c.process}, {"999999999", "no such process"}} {
				pid, why := of[0], of[1]
				failed := func(said string, args ...string) {
					t.Helper()
					code, stdout, stderr := folio(c.filesystem, c.options, c.uid, args...)
					// The kernel writes numbers before Linux 5.8.
					stderr = strings.NewReplacer("hidepid=1,", "hidepid=noaccess,", "hidepid=2,", "hidepid=invisible,").Replace(stderr)
					if want := fmt.Sprintf("folio: %s: %s\n", said, why); code != exitFailure || stdout != "" || stderr != want {
						t.Errorf("%q: code %d, %q, %q, want %q", args, code, stdout, stderr, want)
					}
				}
				for _, args := range append(commandsOf(pid), append(oom, pid)) {
					failed(args[0]+" process "+pid, args[1:]...)
				}
				failed("doctor "+pid, "doctor", pid)
				failed("--attach "+pid, "run", "--attach", pid, "--duration", "1s")
			}
			code, stdout, stderr := folio(c.filesystem, c.options, c.uid, "inspect")
			// Whoever runs the tests may have processes of this user.
			if want := "folio: inspect all processes: " + c.list + "\n"; !(code == exitFailure && stdout == "" && stderr == want ||
				code == 0 && strings.Contains(stdout, "hidden: "+c.list+"\n")) {
				t.Errorf("inspect: code %d, %q, %q, want %q", code, stdout, stderr, want)
			}
			if c.uid != nobody {
				return
			}
			if code, stdout, stderr := folio(c.filesystem, c.options, c.uid, "inspect", own); code != 0 || !strings.HasPrefix(stdout, "$ sleep 1000\nprocess "+own+", ") {
				t.Errorf("its own process: code %d, %q, %q", code, stdout, stderr)
			}
			if code, stdout, stderr := folio(c.filesystem, c.options, "0", "inspect"); code != 0 || strings.Contains(stdout, "hidden:") {
				t.Errorf("inspect by root: code %d, %q, %q", code, stdout, stderr)
			}
		})
	}
}

// Where /proc shows another PID namespace, a number is one of two processes.
func TestForeignProc(t *testing.T) {
	testenv.Root(t, "for a PID namespace")
	for _, args := range append(commandsOf("1"), []string{"doctor", "doctor", "1"}, []string{"--attach", "run", "--attach", "1"}, []string{"", "inspect"}) {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args = append([]string{"folio"}, args[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		const why = ": /proc shows another PID namespace: run folio with unshare --mount-proc, or where /proc was mounted in its namespace\n"
		if code := cmd.ProcessState.ExitCode(); code != exitFailure || stdout.Len() > 0 || !strings.HasSuffix(stderr.String(), why) {
			t.Errorf("%q: code %d, %q, %q", args, code, stdout.String(), stderr.String())
		}
	}
}

const unmountedProc = "/proc is not mounted: as root, run mount -t proc proc /proc"
