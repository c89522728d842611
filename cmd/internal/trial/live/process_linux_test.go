package live

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/internal/test/testenv"
)

func (s *server) endpoint() *Endpoint {
	s.t.Helper()
	e, ok, err := parseEndpoint(s.url + "/metrics#work_seconds")
	if err != nil || !ok {
		s.t.Fatal(err)
	}
	return e
}

// A search leaves the process with the settings that it had, and says in which order it had which:
// that of the samples.
func TestSearch(t *testing.T) {
	s := start(t)
	p := s.open(Options{Endpoint: s.endpoint()})
	r, err := p.Search(t.Context(), tune.Options{Budget: time.Minute, MaxRounds: 2, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	if got := settings(t, s.cmd.Process.Pid); got != "100, off" || !p.Record.Restored {
		t.Errorf("it has %s, restored: %v", got, p.Record.Restored)
	}
	if r.Objective.Name != metric.CPUPerRequest || len(r.Arms) != 4 || r.Trials < 4*2 {
		t.Errorf("%s of %d settings in %d blocks", r.Objective.Name, len(r.Arms), r.Trials)
	}
	type block struct {
		sequence int
		name     string
		sample   *trial.Sample
	}
	blocks := []block{{r.Warmup.Sequence, "default", r.Warmup}}
	for _, a := range r.Arms {
		for _, x := range a.Samples {
			blocks = append(blocks, block{x.Sequence, a.Name, x})
		}
	}
	slices.SortFunc(blocks, func(a, b block) int { return cmp.Compare(a.sequence, b.sequence) })
	if len(blocks) != len(p.Record.Blocks) {
		t.Fatalf("%d samples, %d blocks", len(blocks), len(p.Record.Blocks))
	}
	end := 0.0
	for i, b := range p.Record.Blocks {
		want := blocks[i]
		if b.Setting != want.name || b.CPU == nil || *b.CPU != want.sample.CPU || *b.CPU <= 0 || *b.Allocated == 0 || *b.GCCycles < leastCycles ||
			b.Start < end || b.Counted <= b.Start || b.End <= b.Counted || b.Left != "" || b.Requests == nil || *b.Requests <= 0 || *b.Errors != 0 || *b.Peak > *b.PeakRSS {
			t.Errorf("block %d: %+v of %s, after %v", i, b, want.name, end)
		}
		end = b.End
	}
	line := &p.Record.Timeline
	if !line.Valid() || len(line.Requests) != len(line.Seconds) || line.Seconds[len(line.Seconds)-1] < p.Record.Blocks[len(blocks)-1].Counted {
		t.Errorf("a timeline of %d points", len(line.Seconds))
	}
	if b := p.Record.Before; b.Windows < leastWindows || b.Cycles < fewCycles || b.GC < noGain {
		t.Errorf("before: %+v", b)
	}
}

// A setting that breaks a guardrail is left at once, with the reason, and the search goes on.
func TestGuardrails(t *testing.T) {
	s := start(t)
	p := s.open(Options{Endpoint: s.endpoint()})
	if err := p.hold(); err != nil {
		t.Fatal(err)
	}
	r, err := p.look(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	p.opts.MaxRSS = r.rss + 40<<20
	out, err := p.Run(t.Context(), trial.Setting{GOGC: "3200"}, trial.Request{})
	if err != nil || out.FailureKind != trial.FailedGuardrail || !strings.Contains(out.Failure, "more than --max-rss") {
		t.Fatalf("%+v, %v", out, err)
	}
	b := p.Record.Blocks[0]
	if b.Setting != "GOGC=3200" || b.Left != out.Failure || b.CPU != nil || *b.PeakRSS <= p.opts.MaxRSS {
		t.Errorf("%+v", b)
	}
	if got := settings(t, s.cmd.Process.Pid); got != "100, off" {
		t.Errorf("it has %s", got)
	}
	p.opts.MaxRSS = 0
	if out, err = p.Run(t.Context(), trial.Setting{}, trial.Request{}); err != nil || !out.OK() {
		t.Fatalf("%+v, %v", out, err)
	}
	s.get("/fail")
	if p.opts.MaxErrors, err = tune.ParseMaxErrors("10%"); err != nil {
		t.Fatal(err)
	}
	out, err = p.Run(t.Context(), trial.Setting{GOGC: "200"}, trial.Request{})
	if err != nil || out.FailureKind != trial.FailedGuardrail || !strings.HasSuffix(out.Failure, "requests failed, more than --max-errors 10%") {
		t.Fatalf("%+v, %v", out, err)
	}
	// Under the settings from before it is not the setting's fault.
	_, err = p.Run(t.Context(), trial.Setting{}, trial.Request{})
	if err == nil || !strings.Contains(err.Error(), "the settings in effect break a guardrail: ") {
		t.Errorf("error %v", err)
	}
}

// What the program sets itself stays, and ends the search.
func TestProgramSets(t *testing.T) {
	s := start(t)
	p := s.open(Options{Block: time.Hour})
	if err := p.hold(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	defer func() { <-done }()
	time.AfterFunc(50*time.Millisecond, func() { defer close(done); s.get("/gogc?n=77") })
	_, err := p.Run(t.Context(), trial.Setting{GOGC: "200"}, trial.Request{})
	if err == nil || !strings.Contains(err.Error(), "the program has set GOGC=77 itself: its settings stay") {
		t.Errorf("error %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	s.has("77, off")
	_, err = openServer(t.Context(), s.cmd.Process.Pid, Options{})
	if err == nil || !strings.HasSuffix(err.Error(), ": GOGC=77 is set by the program: debug.SetGCPercent: take that out first; nothing was changed") {
		t.Errorf("error %v", err)
	}
}

// A process that ends in between is an error in a line; so is one that another folio holds.
func TestEndsAndHeld(t *testing.T) {
	s := start(t)
	p := s.open(Options{Block: time.Hour})
	pid := strconv.Itoa(s.cmd.Process.Pid)
	if _, err := openServer(t.Context(), s.cmd.Process.Pid, Options{}); err == nil || !strings.HasPrefix(err.Error(), "--attach "+pid+": its settings are held by another folio set") {
		t.Errorf("error %v", err)
	}
	if err := p.hold(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = s.cmd.Process.Kill() })
	_, err := p.Run(t.Context(), trial.Setting{GOGC: "200"}, trial.Request{})
	if err == nil || err.Error() != "--attach "+pid+": no such process" {
		t.Errorf("error %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// An interrupt restores the settings before Run returns.
func TestInterrupted(t *testing.T) {
	s := start(t)
	p := s.open(Options{Block: time.Hour})
	if err := p.hold(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := p.Run(ctx, trial.Setting{GOGC: "800"}, trial.Request{})
	if got := settings(t, s.cmd.Process.Pid); !errors.Is(err, context.Canceled) || got != "100, off" {
		t.Errorf("it has %s; error %v", got, err)
	}
}

// Whenever a folio is killed that switches settings all the time, those from before are restored.
func TestRandomKills(t *testing.T) {
	s := start(t)
	_ = s.open(Options{}).Close() // skips where it may not be ptraced
	r := rand.New(rand.NewPCG(3, 4))
	for range 15 {
		if !testenv.Within(func() bool { // the guard before holds it for a moment
			p, err := openServer(t.Context(), s.cmd.Process.Pid, Options{})
			return err == nil && p.Close() == nil
		}) {
			t.Fatal("it is held")
		}
		cmd := exec.Command(os.Args[0], strconv.Itoa(s.cmd.Process.Pid))
		cmd.Env = append(os.Environ(), testenv.RoleEnv+"=switch")
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "begun\n" {
			_ = cmd.Wait()
			t.Fatalf("%q, %v", line, err)
		}
		time.Sleep(time.Duration(r.IntN(20_000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		s.has("100, off")
	}
}
