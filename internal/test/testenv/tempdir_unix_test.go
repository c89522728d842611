//go:build unix

package testenv

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A run of tests leaves nothing in the temporary directory, even if it is killed.
func TestTemporaryDirectoryIsRemoved(t *testing.T) {
	if os.Getenv("FOLIO_TEST_LEAVES") != "" {
		dir, err := os.MkdirTemp("", "left-")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "file"), []byte("left"), 0o400)
		}
		if err == nil {
			err = os.Chmod(dir, 0o500)
		}
		fmt.Println("left:", os.TempDir(), err)
		if os.Getenv("FOLIO_TEST_LEAVES") == "wait" {
			time.Sleep(time.Hour)
		}
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]syscall.Signal{"ends": 0, "ctrl-C": syscall.SIGINT, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			outer := t.TempDir()
			how := "wait"
			if end == 0 {
				how = "end"
			}
			cmd := exec.Command(exe, "-test.run=^TestTemporaryDirectoryIsRemoved$", "-test.v")
			cmd.Env = append(os.Environ(), "TMPDIR="+outer, "FOLIO_TEST_LEAVES="+how)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			_, out := Start(t, cmd)
			dir, scan := "", bufio.NewScanner(out)
			for dir == "" && scan.Scan() {
				dir, _ = strings.CutPrefix(scan.Text(), "left: ")
				if !strings.HasSuffix(dir, " <nil>") {
					dir = ""
				}
			}
			dir = strings.TrimSuffix(dir, " <nil>")
			if filepath.Dir(dir) != outer {
				t.Fatalf("temporary directory %q, want one in %s", dir, outer)
			}
			if info, err := os.Stat(dir); end != 0 && (err != nil || info.Mode().Perm() != 0o755) {
				t.Errorf("%v, %v: want mode 0755", info, err)
			}
			if end != 0 {
				if err := syscall.Kill(-cmd.Process.Pid, end); err != nil {
					t.Fatal(err)
				}
			}
			Eventually(t, "the directory is gone", func() bool {
				left, err := os.ReadDir(outer)
				return err == nil && len(left) == 0
			})
		})
	}
}
