package act

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// Whatever ends the agent: the settings are restored, by it, by its guard, or by the agent that
// comes after both were killed, which first keeps what is still wanted.
func TestAgentEnds(t *testing.T) {
	for _, how := range []string{"TERM", "KILL", "KILL guard too"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			wanted, not := startProgram(t, 1), startProgram(t, 2)
			may(t, wanted)
			dir, records := t.TempDir(), t.TempDir()
			w := newStage(dir)
			for _, s := range []*subject{wanted, not} {
				w.must(t, s.container, "536870912", 100)
			}
			policy := filepath.Join(t.TempDir(), "policy")
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(policy+".new", []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(policy+".new", policy); err != nil {
					t.Fatal(err)
				}
			}
			write("settings: [{label: folio.dev/settings=a, gogc: 200, memoryLimit: 300MiB}]")
			mark := "FOLIO_ACT_MARK=" + dir
			var logs []string
			said := func(n int) string { text, _ := os.ReadFile(logs[n]); return string(text) }
			start := func(of ...*subject) *exec.Cmd {
				t.Helper()
				words := []string{policy, dir}
				for _, s := range of {
					words = append(words, strconv.Itoa(s.pid()))
				}
				cmd := testenv.Role(t, "agent", agentEnv+"="+strings.Join(words, " "), mark, "XDG_RUNTIME_DIR="+records)
				log, err := os.Create(filepath.Join(t.TempDir(), "log"))
				if err != nil {
					t.Fatal(err)
				}
				defer log.Close()
				logs = append(logs, log.Name())
				cmd.Stderr = log
				cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
				return cmd
			}
			given := func(g, l int64) bool { return g == 200 && l == 300*mib }
			before := func(g, l int64) bool { return g == 100 && l == none }
			agent := start(wanted, not)
			wanted.within("at first", given)
			not.within("at first", given)
			switch how {
			case "TERM":
				if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				if err := agent.Wait(); err != nil {
					t.Errorf("%v\n%s", err, said(0))
				}
				wanted.has(100, none)
				not.has(100, none)
			case "KILL":
				_ = agent.Process.Kill()
				_ = agent.Wait()
				wanted.within("by the guard", before)
				not.within("by the guard", before)
			default:
				guards := processesWith(mark)
				if len(guards) != 2 {
					t.Fatalf("agent and guard: %v", guards)
				}
				for _, pid := range guards { // none may restore before it is killed
					_ = syscall.Kill(pid, syscall.SIGSTOP)
				}
				for _, pid := range guards {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				_ = agent.Wait()
				wanted.has(200, 300*mib)
				not.has(200, 300*mib)
			}
			testenv.Eventually(t, "processes left", func() bool { return len(processesWith(mark)) == 0 })
			// The next agent. The second process has left its pod meanwhile.
			agent = start(wanted)
			not.within("nobody's", before)
			wanted.within("by the next agent", given)
			// A policy that is wrong changes nothing; one that is gone takes all back.
			write("settings: 1")
			testenv.Eventually(t, "a wrong policy is named", func() bool { return strings.Contains(said(1), "the policy is wrong: the one before stays in effect: ") })
			wanted.has(200, 300*mib)
			write("settings: [{label: folio.dev/settings=a, gogc: 250}]")
			wanted.within("by the next policy", func(g, l int64) bool { return g == 250 && l == none })
			if err := os.Remove(policy); err != nil {
				t.Fatal(err)
			}
			wanted.within("without policy", before)
			write("settings: [{label: folio.dev/settings=a, gogc: 300}]")
			wanted.within("with a policy again", func(g, l int64) bool { return g == 300 && l == none })
			if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := agent.Wait(); err != nil {
				t.Errorf("%v\n%s", err, said(1))
			}
			wanted.has(100, none)
			if how == "KILL guard too" && !strings.Contains(said(1), "took over settings") {
				t.Errorf("%s", said(1))
			}
			if left, _ := filepath.Glob(filepath.Join(records, "folio", "*")); len(left) != 0 {
				t.Errorf("records left: %v", left)
			}
		})
	}
}

// processesWith returns the processes with a variable.
func processesWith(variable string) (pids []int) {
	fs := procmem.New("")
	all, _ := fs.PIDs()
	for _, pid := range all {
		env, err := fs.Environ(pid)
		if st, serr := fs.Stat(pid); err != nil || serr != nil || st.Zombie() {
			continue
		}
		for _, kv := range env {
			if kv == variable {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
