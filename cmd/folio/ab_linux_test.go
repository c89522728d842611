package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// repository prepares a folio ab of two revisions of a program, in a repository of
// their own. The program says in a file that it runs, and does so for an hour.
func repository(t *testing.T) *child {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	c := newChild(t, "ab", "--rev", "one,two", "--json", "f.json", "./prog")
	c.cmd.Env = append(c.cmd.Env, goCaches()...)
	c.cmd.Env = append(c.cmd.Env, "GOTMPDIR="+c.path("tmp"), "GOFLAGS=-mod=mod", "GIT_CONFIG_NOSYSTEM=1")
	for name, text := range map[string]string{
		"go.mod":       "module example.com/x\n\ngo 1.24\n",
		"tmp/ignore":   "",
		".gitignore":   "tmp\nruns\nf.json\n.config\n.cache\n",
		"prog/prog.go": "package main\n\nimport (\n\t\"os\"\n\t\"time\"\n)\n\nfunc main() {\n\tf, _ := os.OpenFile(\"runs\", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)\n\t_, _ = f.WriteString(\"run\\n\")\n\ttime.Sleep(wait)\n}\n",
		"prog/wait.go": "package main\n\nimport \"time\"\n\nconst wait = time.Hour\n",
	} {
		if err := os.MkdirAll(filepath.Dir(c.path(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(c.path("tmp/ignore")); err != nil {
		t.Fatal(err)
	}
	c.git("init", "-q", "-b", "main")
	c.git("add", "-A")
	c.git("commit", "-qm", "one")
	c.git("tag", "one")
	c.git("commit", "-q", "--allow-empty", "-m", "two")
	c.git("tag", "two")
	return c
}

func (c *child) git(args ...string) string {
	c.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "HOME="+c.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// untouched checks that git knows of no worktree but the user's, which is as it was.
func (c *child) untouched() {
	c.t.Helper()
	if list := c.git("worktree", "list"); strings.Count(list, "\n") != 1 {
		c.t.Errorf("worktrees:\n%s", list)
	}
	if status := c.git("status", "--porcelain"); status != "" {
		c.t.Errorf("the working tree has changed:\n%s", status)
	}
}

// Whatever ends folio ab, no worktree and no process is left; of a signal that it hears,
// no file either.
func TestRevisionsAreGone(t *testing.T) {
	testenv.Long(t)
	for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGKILL} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			t.Parallel()
			c := repository(t)
			c.start()
			c.awaitRuns(1)
			c.signal(sig)
			if sig != unix.SIGKILL {
				c.end(130)
				c.clean()
				c.untouched()
				return
			}
			_ = c.cmd.Wait()
			if !testenv.Within(func() bool { return len(processesWith(c.mark)) == 0 }) {
				c.noProcesses()
			}
			c.untouched()
			// What could not be removed then, the next folio removes.
			next := newChild(t, "run", "--", "true")
			next.cmd.Env = append(next.cmd.Env, "GOTMPDIR="+c.path("tmp"))
			next.start()
			next.end(0)
			c.clean()
		})
	}
}

// A signal during a build ends it.
func TestRevisionBuildInterrupted(t *testing.T) {
	t.Parallel()
	c := repository(t)
	bin := t.TempDir()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\ncase $1 in build) ;; *) exec '" + goTool + "' \"$@\" ;; esac\nsleep 3600 & echo >>'" + c.path("runs") + "'; wait\n"
	testenv.WriteProgram(t, filepath.Join(bin, "go"), []byte(script))
	c.cmd.Env[0] = "PATH=" + bin + ":" + os.Getenv("PATH")
	c.start()
	c.awaitRuns(1)
	c.signal(unix.SIGINT)
	c.end(130)
	c.clean()
	c.untouched()
	if got := c.stderr.String(); got != "folio: interrupted before anything was measured\n" {
		t.Errorf("standard error %q", got)
	}
}

// A signal in the first round leaves nothing to compare: one line says so.
func TestABInterruptedInFirstRound(t *testing.T) {
	t.Parallel()
	script := "echo >>runs; test $(wc -l <runs) -lt 4 || exec sleep 3600"
	c := newChild(t, "ab", "--json", "f.json", "--", "sh", "-c", script, "--", "sh", "-c", script)
	c.start()
	c.awaitRuns(4)
	c.signal(unix.SIGINT)
	c.end(130)
	if got := c.stdout.String() + c.stderr.String(); got != "folio: interrupted before the first round was over: nothing was compared\n" {
		t.Errorf("said %q", got)
	}
	data, err := os.ReadFile(c.path("f.json"))
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Complete bool
		Result   *struct{}
		Arms     []struct{ Samples []struct{} }
	}
	if err := json.Unmarshal(data, &f); err != nil || f.Complete || f.Result != nil || len(f.Arms[0].Samples)+len(f.Arms[1].Samples) != 1 {
		t.Errorf("%v: %+v", err, f)
	}
}
