package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/cmd/internal/trial/load"
)

const (
	// assistRate is how many requests a second the server gets: far less than it can take.
	assistRate = 1000
	// assistTarget is the latency that requests are to keep.
	assistTarget = 10 * time.Millisecond
	// A burst is half of what the server keeps, some times a second.
	assistBurst  = 2
	assistPeriod = 100 // ms
	// assistTries is how often the load is put on a new server where folio itself was late.
	assistTries = 2
)

// assistWork starts the server, puts the load on it for Count milliseconds, and prints
// what it found. Latencies of a load that was sent late are not the server's, and left
// out: memory and CPU time are all the same.
func assistWork(p *probe, t Task) error {
	runtime.UnlockOSThread() // which Work has locked: requests come from many goroutines
	debug.SetGCPercent(1000) // of the few MiB of the load
	for try := 1; ; try++ {
		used, l, err := assistTry(t)
		if err != nil {
			return err
		}
		if l.Late && try < assistTries {
			continue
		}
		used = append(used, value{"requests", float64(l.Intended)})
		if v := l.Lateness.P99; v != nil {
			used = append(used, value{"lateness_seconds", *v})
		}
		if !l.Late {
			used = append(used, value{p99Key, *l.Latency.P99}, value{p999Key, *l.Latency.P999}, value{"p50_seconds", *l.Latency.P50},
				value{"missed_fraction", missed(&l.Latency.Histogram, assistTarget)})
		}
		p.point(t.Size, used...)
		return nil
	}
}

// assistTry loads one server, and returns what it used and what the load found. No
// request of it failed.
func assistTry(t Task) ([]value, *load.Result, error) {
	s, err := startServer(t)
	if err != nil {
		return nil, nil, err
	}
	defer s.kill()
	length := time.Duration(t.Count) * time.Millisecond
	var begun error
	l, err := load.Run(context.Background(), load.Options{
		URLs: []string{s.url}, Rate: assistRate, Arrivals: load.Poisson, Seed: seed, Duration: length, Warmup: length / 5,
		Measuring: func() { begun = get(s.url + "begin") },
	})
	if err = errors.Join(err, begun); err != nil {
		return nil, nil, err
	}
	used, err := s.stop()
	if err == nil && (l.Failed > 0 || l.Succeeded == 0) {
		err = errors.New(l.FailedText(&l.Settings, l.Errors))
	}
	return used, l, err
}

// missed returns the part of the times of a histogram that are longer than a target.
func missed(h *load.Histogram, target time.Duration) float64 {
	over := int64(0)
	for i, ns := range h.Nanoseconds {
		if time.Duration(ns) > target {
			over += h.Counts[i]
		}
	}
	return float64(over) / float64(max(h.Count(), 1))
}

func get(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %s", url, resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// A serverProcess is program assist at work.
type serverProcess struct {
	cmd   *exec.Cmd
	in    io.Closer
	out   *bufio.Reader
	said  *bytes.Buffer // on standard error
	url   string
	ended bool
}

// startServer starts the program of a task, and waits until it serves.
func startServer(t Task) (_ *serverProcess, err error) {
	if t.Program == "" {
		return nil, errors.New("it needs a program")
	}
	s := &serverProcess{said: new(bytes.Buffer)}
	s.cmd = exec.Command(t.Program, strconv.FormatUint(t.Size, 10), strconv.FormatUint(max(t.Size/assistBurst, 1), 10), strconv.Itoa(assistPeriod))
	s.cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	s.cmd.Stderr = s.said
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := startYielding(s.cmd); err != nil {
		return nil, err
	}
	s.in, s.out = in, bufio.NewReader(out)
	line, err := s.out.ReadString('\n')
	if err != nil {
		s.kill()
		return nil, s.failed(errors.New("it ended before it served"))
	}
	s.url = "http://" + strings.TrimSpace(line) + "/"
	return s, nil
}

// failed adds what the server said to an error of it. It must have ended.
func (s *serverProcess) failed(err error) error {
	_, text := s.heard()
	h := &head{text: text}
	if line := h.line(); line != "" {
		return fmt.Errorf("the server: %w: %s", err, line)
	}
	return fmt.Errorf("the server: %w", err)
}

// heard tells the trace from what else the server said. It must have ended.
func (s *serverProcess) heard() (gc gctrace.Summary, text []byte) {
	for line := range bytes.Lines(s.said.Bytes()) {
		if c, err := gctrace.Parse(line); err == nil {
			gc.Add(c)
		} else {
			text = append(text, line...)
		}
	}
	return gc, text
}

// kill ends the server where stop did not.
func (s *serverProcess) kill() {
	if !s.ended {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.ended = true
	}
}

// stop ends the server, and returns its figures.
func (s *serverProcess) stop() ([]value, error) {
	if err := s.in.Close(); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(s.out)
	err = errors.Join(err, s.cmd.Wait())
	s.ended = true
	if err != nil {
		return nil, s.failed(err)
	}
	var out []value
	for line := range strings.Lines(string(text)) {
		key, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, fmt.Errorf("the server: figure %q: %w", line, err)
		}
		out = append(out, value{key, v})
	}
	gc, _ := s.heard()
	if len(out) == 0 || gc.Cycles == 0 {
		return nil, s.failed(errors.New("it has no figures"))
	}
	return append(out, value{heapKey, float64(gc.HeapPeak)}, value{"peak_rss_bytes", float64(maxRSS(s.cmd.ProcessState))}), nil
}
