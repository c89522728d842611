package live

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/guard"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{
		"server": serve,
		"guard":  func() error { return guard.Main[livegc.Undo](nil, os.Args[1:], os.Stdin, os.Stdout) },
		"switch": func() error { return switchAllTheTime(os.Args[1]) },
	})
	os.Exit(testenv.RunIn(m, "XDG_RUNTIME_DIR"))
}

type node struct {
	l, r *node
	_    [64]byte
}

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{l: tree(depth - 1), r: tree(depth - 1)}
}

var kept, garbage *node

// serve keeps some 2 MB, allocates all the time, and counts that as requests, in the text format
// of Prometheus at the address that it prints. /gogc sets its GOGC, /fail has requests fail.
func serve() error {
	kept = tree(13)
	var requests, failed atomic.Int64
	var fail atomic.Bool
	go func() {
		for {
			garbage = tree(7)
			if requests.Add(1); fail.Load() {
				failed.Add(1)
			}
			if requests.Load()%64 == 0 {
				time.Sleep(100 * time.Microsecond)
			}
		}
	}()
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		bad := failed.Load()
		good := requests.Load() - bad
		fmt.Fprintf(w, "# TYPE work_seconds histogram\n")
		for code, n := range map[string]int64{"200": good, "500": bad} {
			fmt.Fprintf(w, "work_seconds_bucket{code=%q,le=\"0.01\"} %d\nwork_seconds_bucket{code=%q,le=\"+Inf\"} %d\nwork_seconds_sum{code=%q} 1\nwork_seconds_count{code=%q} %d\n",
				code, n, code, n, code, code, n)
		}
	})
	http.HandleFunc("/gogc", func(_ http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		debug.SetGCPercent(n)
	})
	http.HandleFunc("/fail", func(http.ResponseWriter, *http.Request) { fail.Store(true) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return http.Serve(l, nil)
}

// A server is a process of serve.
type server struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
}

func start(t *testing.T) *server {
	t.Helper()
	cmd := testenv.Role(t, "server", "GOGC=100", "GOMEMLIMIT=")
	_, out := testenv.Start(t, cmd)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &server{t, cmd, "http://" + strings.TrimSpace(line)}
}

func (s *server) get(path string) {
	s.t.Helper()
	r, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Body.Close()
}

// has waits until the process has settings.
func (s *server) has(want string) {
	s.t.Helper()
	var got string
	if !testenv.Within(func() bool { got = settings(s.t, s.cmd.Process.Pid); return got == want }) {
		s.t.Errorf("it has %s, want %s", got, want)
	}
}

// settings are those of a process, or why they cannot be read: a killed folio may have left half of
// a change, until the guard restores.
func settings(t *testing.T, pid int) string {
	t.Helper()
	p, err := livegc.Open(procmem.New(""), pid)
	if err != nil {
		return err.Error()
	}
	defer p.Close()
	s, err := p.State()
	if err != nil {
		return err.Error()
	}
	return livegc.GOGC(s.Percent) + ", " + livegc.GOMEMLIMIT(s.Limit)
}

// open opens the process, with a guard and short blocks. Not everywhere may it be ptraced.
func (s *server) open(o Options) *Process {
	s.t.Helper()
	p, err := openServer(s.t.Context(), s.cmd.Process.Pid, o)
	if err != nil {
		if strings.Contains(err.Error(), "permi") || strings.Contains(err.Error(), "CAP_SYS_PTRACE") {
			testenv.Missing(s.t, "ptrace a child: %v", err)
		}
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.Close() })
	return p
}

func openServer(ctx context.Context, pid int, o Options) (*Process, error) {
	o.Block = max(o.Block, 40*time.Millisecond)
	o.Guard = []string{"/usr/bin/env", testenv.RoleEnv + "=guard", os.Args[0]}
	return Open(ctx, procmem.New(""), pid, o)
}

// switchAllTheTime alternates settings as fast as it can until it is killed.
func switchAllTheTime(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	p, err := openServer(context.Background(), n, Options{})
	if err != nil {
		return err
	}
	if err := p.hold(); err != nil {
		return err
	}
	fmt.Println("begun")
	all := []goruntime.GCSettings{{Percent: 200, Limit: 1 << 30}, {Percent: -1, Limit: 1 << 30}, {Percent: 800, Limit: 1 << 31}, {Percent: 50, Limit: 1 << 62}}
	for i := 0; ; i++ {
		c := livegc.Change{}
		if s := all[i%len(all)]; i%5 > 0 {
			c = livegc.Change{Percent: &s.Percent, Limit: &s.Limit}
		}
		if err := p.gc.Switch(c, p.guard); err != nil {
			return err
		}
	}
}
