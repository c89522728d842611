package trial

import (
	"context"
	"errors"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/test/testenv"
)

// server returns a trial of a server with its options under a load of requests.
func server(t *testing.T, requests int, options ...string) *subject {
	t.Helper()
	addr := "127.0.0.1:" + freePort(t)
	p := role(append([]string{"serve", addr}, options...)...)
	ready, err := ParseReady("tcp:" + addr)
	if err != nil {
		t.Fatal(err)
	}
	p.Server = &Server{
		Ready: ready, ReadyTimeout: time.Minute, StopTimeout: 20 * time.Second,
		Load: roleLine("load", "http://"+addr+"/", strconv.Itoa(requests)),
	}
	p.Timeout = time.Minute // so that a failure ends
	return p
}

func TestServer(t *testing.T) {
	var out, errOut strings.Builder
	p := server(t, 20)
	p.Stdout, p.Stderr, p.ReadGC = &out, &errOut, true
	p.Metric = &metric.Spec{Name: "ops", Pattern: regexp.MustCompile(`([0-9]+) ops`), Higher: true}
	ready, err := ParseReady("http://" + p.Server.Ready.addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	for _, p.Server.Ready = range []*Ready{p.Server.Ready, ready} {
		out.Reset()
		s := run(t, p, Setting{})
		if !s.OK() {
			t.Fatalf("failure %q, tail %q", s.Failure, s.Tail)
		}
		// The server was told to end, so it did so by the signal.
		if s.Signal != "SIGTERM" || s.Leftovers != 0 {
			t.Errorf("signal %q, %d leftovers", s.Signal, s.Leftovers)
		}
		if s.Metrics["ops"] != 20 {
			t.Errorf("metrics %v: want those of the load generator's last line", s.Metrics)
		}
		if out.String() != "prepared\n" || errOut.Len() != 0 {
			t.Errorf("output %q, %q: want the server's, not the load generator's", &out, &errOut)
		}
		if s.PeakRSS == nil || s.Wall <= 0 {
			t.Errorf("%+v", s)
		}
	}
}

// All figures but memory are of the time under load.
func TestServerFiguresAreOfTheLoad(t *testing.T) {
	testenv.Long(t)
	if testenv.Apart(t) {
		return
	}
	p := server(t, 10, "touch=100", "burn=700", "gc=200")
	p.ReadGC = true
	s := run(t, p, Setting{})
	if !s.OK() {
		t.Fatal(s.Failure)
	}
	if pages := int64(100 * mib / os.Getpagesize()); s.MinorFaults > pages/2 {
		t.Errorf("%d faults under load; the %d before do not count", s.MinorFaults, pages)
	}
	if s.User > 0.5 {
		t.Errorf("user time %v s under load; the 0.7 s before do not count", s.User)
	}
	if s.GCCycles == nil || *s.GCCycles < 1 || *s.GCCycles >= 200 {
		t.Errorf("%v collections under load of 10 requests; the 200 before do not count", orNone(s.GCCycles))
	}
	if s.PeakRSS == nil || *s.PeakRSS < 100*mib {
		t.Errorf("peak %v MiB; the 100 MiB from before count", mibOf(s.PeakRSS))
	}
}

// Where fewer than two GC cycles end under load, the heap is still growing; what was live
// before the load is known all the same.
func TestServerStillGrows(t *testing.T) {
	few := run(t, withTrace(server(t, 3, "live=40", "garbage=1")), Setting{})
	if !few.OK() || !few.Growing || few.LivePeak == nil || *few.LivePeak < 10*mib {
		t.Errorf("%q, %v cycles, growing %t, live %v MiB", few.Failure, orNone(few.GCCycles), few.Growing, mibOf(few.LivePeak))
	}
	many := run(t, withTrace(server(t, 10, "live=40")), Setting{}) // each request collects
	if !many.OK() || many.Growing || many.LivePeak == nil || *many.LivePeak < 38*mib {
		t.Errorf("%q, %v cycles, growing %t, live %v MiB", many.Failure, orNone(many.GCCycles), many.Growing, mibOf(many.LivePeak))
	}
	unknown := run(t, server(t, 3, "live=40", "garbage=1"), Setting{})
	program := run(t, withTrace(&subject{Program: Program{Command: []string{"true"}}}), Setting{})
	if unknown.Growing || program.Growing {
		t.Errorf("without a trace %t, of a program that ends %t", unknown.Growing, program.Growing)
	}
	if !Growing([]*Sample{few, {Failure: "x"}}) || Growing([]*Sample{few, many}) || Growing([]*Sample{{Failure: "x", Growing: true}}) {
		t.Error("of several runs")
	}
	for _, x := range []struct {
		s    *Sample
		says bool
	}{{few, true}, {many, false}} {
		var notes stat.Notes
		AddNotes(&notes, []*Sample{x.s}, false)
		if said := strings.Contains(strings.Join(notes.Texts(), "\n"), "still growing"); said != x.says {
			t.Errorf("%v cycles: notes %q", orNone(x.s.GCCycles), notes.Texts())
		}
	}
	many.GCCycles, many.Growing = nil, true
	if many.Recompute(); many.Growing {
		t.Error("growing, and the cycles are not known")
	}
}

func withTrace(p *subject) *subject {
	p.ReadGC = true
	return p
}

// What the load generator uses is not the server's, whatever becomes of it.
func TestLoadDoesNotCount(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	big := roleLine("touch", "150", "60000")
	for name, load := range map[string]string{
		"waited for":  roleLine("touch", "150", "0"),
		"left behind": "mkfifo MARKER; " + big + " >MARKER & read hwm <MARKER",
		"an orphan":   "(" + roleLine("touch", "150", "0") + " &) | cat",
	} {
		p := server(t, 1)
		p.Server.Load = strings.ReplaceAll(load, "MARKER", Quote(marker(t)))
		s := run(t, p, Setting{})
		if !s.OK() {
			t.Errorf("%s: %s", name, s.Failure)
		}
		if pages := int64(150 * mib / os.Getpagesize()); s.MinorFaults > pages/2 {
			t.Errorf("%s: %d faults", name, s.MinorFaults)
		}
		if s.PeakRSS == nil || *s.PeakRSS > 140*mib || *s.PeakTreeRSS > 140*mib {
			t.Errorf("%s: peak %v MiB, of the tree %v", name, mibOf(s.PeakRSS), mibOf(s.PeakTreeRSS))
		}
		if s.Leftovers != 0 {
			t.Errorf("%s: %d leftovers of the server", name, s.Leftovers)
		}
	}
}

func TestServerFails(t *testing.T) {
	testenv.Long(t)
	if testenv.Apart(t) {
		return
	}
	for _, c := range []struct {
		name    string
		options []string
		change  func(p *subject)
		failure []string
	}{
		{"never answers", []string{"deaf"}, func(p *subject) { p.Server.ReadyTimeout = 2 * time.Second },
			[]string{"did not answer at tcp:127.0.0.1:", "within 2s", "refused", "--ready-timeout"}},
		{"dies before", []string{"die=4"}, nil, []string{"ended before it answered at tcp:"}},
		{"dies well before", []string{"die=0"}, nil, []string{"ended before it answered at tcp:"}},
		{"dies under load", nil, func(p *subject) {
			p.Server.Load = strings.Replace(p.Server.Load, "/ ", "/die ", 1) + "; sleep 1000"
		}, []string{"ended under load"}},
		{"load fails", nil, func(p *subject) { p.Server.Load = "echo one; echo two >&2; echo 'no such target' >&2; exit 3" },
			[]string{"load generator failed: exit code 3: no such target"}},
		{"load fails with output", nil, func(p *subject) { p.Server.Load = "echo one; echo two; exit 4" },
			[]string{"load generator failed: exit code 4: two"}},
		{"load fails silently", nil, func(p *subject) { p.Server.Load = "exit 5" }, []string{"load generator failed: exit code 5"}},
		{"load is killed", nil, func(p *subject) { p.Server.Load = "kill -KILL $$" }, []string{"load generator was killed by SIGKILL"}},
		{"load is killed in real time", nil, func(p *subject) { p.Server.Load = "kill -40 $$" }, []string{"load generator was killed by signal 40"}},
		{"load is not a command", nil, func(p *subject) { p.Server.Load = "no-such-load-generator" },
			[]string{"exit code 127: ", "no-such-load-generator: "}}, // not found; in a PATH that may not be read, permission denied
		{"load takes too long", nil, func(p *subject) {
			p.Server.Load = "trap '' TERM; sleep 1000 & while :; do sleep 0.01; done"
			p.Timeout = 200 * time.Millisecond
		}, []string{"took longer than 200ms"}},
		{"metric is missing", nil, func(p *subject) {
			p.Metric = &metric.Spec{Name: "x", Pattern: regexp.MustCompile("x=([0-9]+)")}
		}, []string{"metric x: no line"}},
		{"too large before it answers", []string{"touch=150", "deaf"}, func(p *subject) { p.MaxMemory = 120 * mib },
			[]string{"its memory passed 120MiB"}},
		{"too large under load", []string{"touch=150"}, func(p *subject) {
			// The bound holds for the server: it was passed when the load begins.
			p.MaxMemory, p.Server.Load = 120*mib, "sleep 1000"
		}, []string{"its memory passed 120MiB"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := server(t, 1, c.options...)
			if c.change != nil {
				c.change(p)
			}
			s := run(t, p, Setting{})
			if before := strings.Contains(c.name, "before"); s.NoLoad != (before || c.name == "never answers") && c.name != "too large under load" { // it may be ended before
				t.Errorf("no load: %t", s.NoLoad)
			}
			for _, text := range c.failure {
				if !strings.Contains(s.Failure, text) {
					t.Errorf("failure %q does not say %q", s.Failure, text)
				}
			}
			if strings.Contains(s.Failure, "\n") {
				t.Errorf("failure of several lines: %q", s.Failure)
			}
			if strings.HasPrefix(c.name, "dies before") && (orNone(s.ExitCode) != 4 || s.Reason() != "cannot read the configuration") {
				t.Errorf("exit code %v, reason %q: want the server's", orNone(s.ExitCode), s.Reason())
			}
			if s.OverMemory != (p.MaxMemory > 0) || s.TimedOut != (p.Timeout < time.Minute) {
				t.Errorf("over memory %v, overdue %v", s.OverMemory, s.TimedOut)
			}
		})
	}
}

func TestPortIsTaken(t *testing.T) {
	p := server(t, 1)
	l, err := net.Listen("tcp", p.Server.Ready.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := p.Run(t.Context(), Setting{})
	checkNoneLeft(t)
	if s != nil {
		t.Errorf("sample %+v", s)
	}
	checkMessage(t, err, l.Addr().String(), "listens", "another port")
}

func TestServerThatDoesNotStop(t *testing.T) {
	p := server(t, 2, "linger", "child")
	p.Server.StopTimeout = 100 * time.Millisecond
	s := run(t, p, Setting{})
	if !s.OK() || s.Signal != "SIGKILL" {
		t.Errorf("signal %q, failure %q", s.Signal, s.Failure)
	}
	// One that stops, but leaves a process behind.
	s = run(t, server(t, 2, "child"), Setting{})
	if !s.OK() || s.Signal != "SIGTERM" || s.Leftovers != 1 {
		t.Errorf("signal %q, %d leftovers, failure %q", s.Signal, s.Leftovers, s.Failure)
	}
}

func TestServerIsCanceled(t *testing.T) {
	testenv.Long(t)
	// Before it answers.
	if s, err := runUntilText(t, server(t, 1, "deaf", "child"), "prepared"); s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("sample %v, error %v", s, err)
	}
	// Under load: the load tells when it runs, through a file that is read here.
	p := server(t, 1, "child")
	file := marker(t)
	p.Server.Load = "trap '' TERM; touch " + Quote(file) + "; while :; do sleep 0.01; done"
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for !exists(file) {
			time.Sleep(time.Millisecond)
		}
	}()
	s, err := p.Run(ctx, Setting{})
	checkNoneLeft(t)
	if s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("sample %v, error %v", s, err)
	}
}

// A load that was over before its figures could be taken gives none: no time below zero.
func TestLoadEndsBeforeItsWindow(t *testing.T) {
	begin := time.Now()
	out := &Sample{NoLoad: true}
	(&window{begin: begin}).close(&running{}, out, begin.Add(-time.Millisecond))
	if !out.NoLoad || out.Wall != 0 {
		t.Errorf("load of %v s, without load: %v", out.Wall, out.NoLoad)
	}
}
