package act

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/cgroups"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/fleet/internal/pod"
	"github.com/foliomem/folio/cmd/internal/base/guard"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{
		"program": program,
		"guard":   func() error { return guard.Main[livegc.Undo](nil, os.Args[1:], os.Stdin, os.Stdout) },
		"agent":   agent,
	})
	os.Exit(testenv.RunIn(m, "XDG_RUNTIME_DIR"))
}

var (
	heap    [][]byte
	garbage []byte
)

// program says for each line that it reads which GOGC and GOMEMLIMIT it has. Before, it sets its
// GOGC or limit itself ("gogc 50", "limit 1000"), keeps so many MiB more ("grow 10"), or makes
// garbage from then on ("spin").
func program() error {
	runtime.GC()
	for sc := bufio.NewScanner(os.Stdin); sc.Scan(); {
		what, text, _ := strings.Cut(sc.Text(), " ")
		n, _ := strconv.Atoi(text)
		switch what {
		case "gogc":
			debug.SetGCPercent(n)
		case "limit":
			debug.SetMemoryLimit(int64(n))
		case "grow":
			for range n {
				b := make([]byte, 1<<20)
				for i := range b {
					b[i] = 1
				}
				heap = append(heap, b)
			}
			runtime.GC()
		case "spin":
			go func() {
				for {
					garbage = make([]byte, 64<<10)
				}
			}()
		}
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
		metrics.Read(s)
		fmt.Println(int64(s[0].Value.Uint64()), s[1].Value.Uint64()) // off is -1
	}
	return nil
}

// A subject is a process of program, the only one of a container.
type subject struct {
	t         *testing.T
	cmd       *exec.Cmd
	ask       func(line string) (gogc, limit int64)
	container int
}

// has checks what the process says that it has.
func (s *subject) has(gogc, limit int64) {
	s.t.Helper()
	if g, l := s.ask(""); g != gogc || l != limit {
		s.t.Errorf("GOGC=%d, GOMEMLIMIT=%d; want %d, %d", g, l, gogc, limit)
	}
}

func (s *subject) pid() int { return s.cmd.Process.Pid }

const none = math.MaxInt64

func startProgram(t *testing.T, container int, env ...string) *subject {
	t.Helper()
	s := &subject{t: t, cmd: testenv.Role(t, "program", env...), container: container}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, out := testenv.Start(t, s.cmd)
	s.ask = func(line string) (gogc, limit int64) {
		t.Helper()
		fmt.Fprintln(in, line)
		text, err := out.ReadString('\n')
		if err == nil {
			_, err = fmt.Sscan(text, &gogc, &limit)
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return gogc, limit
	}
	t.Cleanup(func() { in.Close(); _ = s.cmd.Wait() })
	s.ask("")
	return s
}

// A stage has containers whose processes are real: those of subjects. Their cgroups are files.
type stage struct {
	dir    string            // of cgroups
	of     map[int]int       // containers, by PID
	labels map[string]string // of pods, by ID of the container: the value of folio.dev/settings
	leases map[string]string // likewise: their annotations
}

func newStage(dir string) *stage {
	return &stage{dir: dir, of: make(map[int]int), labels: make(map[string]string), leases: make(map[string]string)}
}

func (w *stage) Find(_, id string) (pod.Name, bool) {
	return pod.Name{Namespace: "shop", Pod: "pod-" + strings.TrimLeft(id, "0"), Container: "main"}, true
}
func (w *stage) Has(string) bool { return true }
func (w *stage) Synced() bool    { return true }
func (w *stage) Pods() int       { return len(w.labels) }

func (w *stage) Label(_, id, label string) (string, bool) {
	v, ok := w.labels[id]
	return v, ok && label == "folio.dev/settings"
}

func (w *stage) Annotation(_, id, name string) string {
	if name != LeaseAnnotation {
		return ""
	}
	return w.leases[id]
}

func (w *stage) Workload(_, id string) (pod.Workload, bool) {
	return pod.Workload{Kind: "Deployment", Name: "app"}, true
}

// add makes a subject one of a pod with a value of the label.
func (w *stage) add(s *subject, value string) {
	w.of[s.pid()], w.labels[container(s.container)] = s.container, value
}

// What is charged to a container besides its anonymous memory.
const charged = "file 7000000\nshmem 20971520\nkernel 4194304\nslab_reclaimable 0\n"

// write makes the cgroup of a container: its limit, and what of anonymous memory is charged to
// it, in MiB.
func (w *stage) write(n int, limit string, anon int) error {
	dir := filepath.Join(w.dir, "kubepods/pod"+uid, container(n))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"memory.max": limit + "\n", "memory.current": strconv.Itoa((anon+40)*mib) + "\n", "memory.high": "max\n",
		"memory.stat": fmt.Sprintf("anon %d\n", anon*mib) + charged, "../../../cgroup.controllers": "memory\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// actor makes the actor of the stage.
func (w *stage) actor(p Policy, log io.Writer) *Actor {
	l := slog.New(slog.NewTextHandler(log, nil))
	n := node.New(node.Config{FS: procmem.New(""), Pods: w, Log: l, Cgroup: func(pid int) []byte {
		if c, ok := w.of[pid]; ok {
			return []byte("0::/kubepods/pod" + uid + "/" + container(c) + "\n")
		}
		return []byte("0::/\n")
	}})
	p.Label = "" // nothing is put on huge pages
	a := New(p, n, w, nil, l)
	a.Keeper = NewKeeper(a, cgroups.Open(w.dir), "", []string{"/proc/self/exe"})
	a.Keeper.settle = 0
	return a
}

const agentEnv = "FOLIO_ACT_TEST"

// agent runs an actor until it is asked to end: with the policy, the cgroups and the processes of
// FOLIO_ACT_TEST.
func agent() error {
	words := strings.Fields(os.Getenv(agentEnv))
	os.Setenv(testenv.RoleEnv, "guard") // for what it starts
	w := newStage(words[1])
	for i, text := range words[2:] {
		pid, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		w.of[pid], w.labels[container(i+1)] = i+1, "a"
	}
	p, err := Read(words[0])
	if err != nil {
		return err
	}
	a := w.actor(p, os.Stderr)
	a.Reload = func() (Policy, error) {
		p, err := Read(words[0])
		p.Label = ""
		return p, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return a.Run(ctx)
}

// within waits until a process has settings.
func (s *subject) within(what string, ok func(gogc, limit int64) bool) {
	s.t.Helper()
	var g, l int64
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if g, l = s.ask(""); ok(g, l) {
			return
		}
	}
	s.t.Fatalf("%s: it has GOGC=%d, GOMEMLIMIT=%d", what, g, l)
}
