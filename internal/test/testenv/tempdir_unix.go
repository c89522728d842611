//go:build unix

package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// tempEnv is the temporary directory of the tests that this process is a part of.
const tempEnv = "FOLIO_TEST_TMPDIR"

// The tests of a package, and all processes that they start, have a temporary directory of
// their own, that no other user may write to. It is removed when the tests end, even if
// they are killed: a shell waits for that.
func init() {
	if os.Getenv(tempEnv) == os.TempDir() || !isTest() {
		return
	}
	if err := ownTemp(); err != nil {
		fmt.Fprintln(os.Stderr, "testenv: make a temporary directory for the tests:", err)
		os.Exit(1)
	}
}

// isTest reports whether this process runs tests: it may also be a program of theirs.
func isTest() bool {
	return slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.") })
}

// whenDead removes the directory $0 when standard input ends, and what is mounted in it.
const whenDead = `{
	cat
	while read -r _ dir _; do
		case $dir in "$0"/*) umount -l "$dir" ;; esac
	done < /proc/self/mounts
	chmod -R u+rwX "$0"
	rm -rf "$0"
} <&3 >/dev/null 2>&1 &`

func ownTemp() error {
	dir, err := os.MkdirTemp("", "folio-test-")
	if err != nil {
		return err
	}
	// The write end stays open: the kernel closes it when this process ends, however it does.
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		return err
	}
	syscall.CloseOnExec(pipe[0])
	syscall.CloseOnExec(pipe[1])
	r := os.NewFile(uintptr(pipe[0]), "pipe")
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", whenDead, dir)
	cmd.Dir, cmd.ExtraFiles = "/", []*os.File{r}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // ctrl-C ends the tests, not the shell
	if err := cmd.Run(); err != nil {
		return err
	}
	// Other users may look at what is in it: some programs of tests are run by them.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"TMPDIR", tempEnv} {
		if err := os.Setenv(name, dir); err != nil {
			return err
		}
	}
	return nil
}
