// Package promtest starts the Prometheus of the system for tests, with series of the past
// in it (promtool's backfilling).
package promtest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

// Block is the length of Prometheus' blocks. What is backfilled at once is best of one.
const Block = 2 * time.Hour

// A Server is a Prometheus with a directory of its own.
type Server struct {
	URL  string
	Data string // its blocks
	dir  string
	cmd  *exec.Cmd
	stop context.CancelFunc
	said *log
}

// log is what the server writes, while it runs.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// New makes a server that does not run yet. The test is skipped where the programs are
// missing.
func New(t testing.TB) *Server {
	t.Helper()
	for _, name := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(name); err != nil {
			testenv.Missing(t, "%v", err)
		}
	}
	dir := t.TempDir()
	s := &Server{dir: dir, Data: filepath.Join(dir, "data"), said: &log{}}
	if err := os.MkdirAll(s.Data, 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// Promtool runs promtool in the server's directory.
func (s *Server) Promtool(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command("promtool", args...)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// File writes a file that the configuration or promtool is to read, and returns its path.
func (s *Server) File(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Backfill adds samples of one block, in the OpenMetrics format without its end.
func (s *Server) Backfill(t testing.TB, openMetrics []byte) {
	t.Helper()
	path := s.File(t, "backfill", append(openMetrics[:len(openMetrics):len(openMetrics)], "# EOF\n"...))
	s.Promtool(t, "tsdb", "create-blocks-from", "openmetrics", "--quiet", path, s.Data)
}

// Start starts it with a configuration, and waits until it is ready.
func (s *Server) Start(t testing.TB, config string) {
	t.Helper()
	file := s.File(t, "prometheus.yml", []byte(config))
	port, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + port
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.cmd = exec.CommandContext(ctx, "prometheus", "--config.file="+file, "--storage.tsdb.path="+s.Data, "--web.listen-address="+address,
		"--storage.tsdb.retention.time=100d", "--log.level=warn")
	s.cmd.Stderr = s.said
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	s.URL = "http://" + address
	testenv.Eventually(t, "prometheus is ready", func() bool {
		resp, err := http.Get(s.URL + "/-/ready")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// Stop ends it. It may be started again.
func (s *Server) Stop() {
	if s.stop != nil {
		s.stop()
		_ = s.cmd.Wait()
		s.stop = nil
	}
}

// Said is what it wrote.
func (s *Server) Said() string {
	s.said.mu.Lock()
	defer s.said.mu.Unlock()
	return s.said.b.String()
}

// Sample is a line of the OpenMetrics format.
func Sample(series string, v float64, at time.Time) string {
	return fmt.Sprintf("%s %g %d.%03d\n", series, v, at.Unix(), at.Nanosecond()/1e6)
}
