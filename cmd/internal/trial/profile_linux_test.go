package trial

import (
	"bytes"
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

const testRate = 997

func needSampling(t *testing.T) {
	t.Helper()
	if err := perf.Check(); err != nil {
		testenv.Missing(t, "no sampling: %v", err)
	}
}

// functions returns the names on all stacks of a sample's profile.
func functions(t *testing.T, s *Sample) map[string]bool {
	t.Helper()
	var b bytes.Buffer
	if err := s.Collected.WritePprof(&b, time.Second); err != nil {
		t.Fatal(err)
	}
	s.Collected.Close()
	p, err := pprof.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, f := range p.Function {
		names[f.Name[strings.LastIndexByte(f.Name, '/')+1:]] = true
	}
	return names
}

// checkWhere checks what holds of every result: its seconds are those of the sample.
func checkWhere(t *testing.T, s *Sample) {
	t.Helper()
	if s.Unsampled != nil || s.Profile == nil || s.MemoryTax == nil {
		t.Fatalf("not sampled: %v", s.Unsampled)
	}
	seconds, fraction, tax := 0.0, 0.0, 0.0
	for _, c := range s.Profile.Classes {
		seconds += c.Seconds
		fraction += c.Fraction
		if c.Class.Info().Memory {
			tax += c.Fraction
		}
	}
	if math.Abs(seconds-s.CPU) > 1e-6 || math.Abs(fraction-1) > 1e-6 || math.Abs(tax-*s.MemoryTax) > 1e-6 {
		t.Errorf("classes have %v s of %v, %v of 1, a tax of %v of %v", seconds, s.CPU, fraction, tax, *s.MemoryTax)
	}
}

func TestProfile(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	needSampling(t)
	p := role("burn", "300")
	p.Profile, p.Keep = testRate, Keep{Samples: true, Stacks: true}
	s := runOK(t, p, Setting{})
	checkWhere(t, s)
	// 300 ms of CPU time are 299 samples, and what starting took; fewer where
	// the machine itself does not run all the time.
	if s.Profile.Samples < 150 {
		t.Errorf("%d samples", s.Profile.Samples)
	}
	if names := functions(t, s); !names["trial.burn"] {
		t.Errorf("trial.burn is not in %v", names)
	}
	// The call paths have the same time, and the program's main at their beginning.
	tree := Tree([]*Sample{s, {Failure: "not this one", Stacks: s.Stacks}})
	// Without the right to sample the kernel, its time has no call path.
	if tree == nil || tree.Runs != 1 || !tree.Valid() || tree.Total()-s.CPU > 1e-6 || s.Profile.Kernel && s.CPU-tree.Total() > 1e-6 {
		t.Fatalf("the tree of %v s: %+v", s.CPU, tree)
	}
	path := ""
	for at := slices.IndexFunc(tree.Calls, func(f int) bool { return strings.HasSuffix(tree.Functions[f].Name, "trial.burn") }); at >= 0; at = tree.Parents[at] {
		path = tree.Functions[tree.Calls[at]].Name + " " + path
	}
	if !strings.HasPrefix(path, "runtime.goexit runtime.main main.main ") && !strings.HasPrefix(path, "runtime.goexit.abi0 runtime.main main.main ") {
		t.Errorf("trial.burn is called by %s", path)
	}
	p.Profile = 0
	if s := runOK(t, p, Setting{}); s.Profile != nil || s.MemoryTax != nil || s.Collected != nil {
		t.Error("sampled without being asked")
	}
}

// TestProfileChildren checks that what the program starts is sampled with it.
func TestProfileChildren(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	needSampling(t)
	p := shell("sleep 0.01; " + roleLine("burn", "200") + " & " + roleLine("burn", "200") + "; wait")
	p.Profile, p.Keep.Samples = testRate, true
	s := runOK(t, p, Setting{})
	checkWhere(t, s)
	if names := functions(t, s); !names["trial.burn"] || s.Profile.Samples < 200 {
		t.Errorf("%d samples, of %v", s.Profile.Samples, names)
	}
}

// TestProfileServer checks that neither the time before the load nor the load
// generator is in the profile of a server.
func TestProfileServer(t *testing.T) {
	testenv.Long(t)
	if testenv.Apart(t) {
		return
	}
	needSampling(t)
	p := server(t, 300, "burn=200")
	p.Profile, p.Keep.Samples = testRate, true
	s := run(t, p, Setting{})
	if !s.OK() {
		t.Fatalf("failure %q, tail %q", s.Failure, s.Tail)
	}
	names := functions(t, s)
	if names["trial.burn"] || names["trial.roleLoad"] {
		t.Errorf("the profile of a server under load has trial.burn: %t, trial.roleLoad: %t", names["trial.burn"], names["trial.roleLoad"])
	}
	if !names["trial.roleServe.func1"] && !names["runtime.GC"] && !names["runtime.gcStart"] {
		t.Errorf("what the server does under load is not in %v", names)
	}
}

func TestAttach(t *testing.T) {
	needSampling(t)
	cmd := roleCmd("burn", "100000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	testenv.Eventually(t, "what it is there for", func() bool {
		st, err := procmem.FS{}.Stat(cmd.Process.Pid)
		return err == nil && st.UTime >= 50*time.Millisecond
	})
	// On a busy machine it may have next to no CPU time for a while.
	var s *Sample
	for d := 300 * time.Millisecond; ; d *= 2 {
		var err error
		if s, err = Attach(t.Context(), procmem.FS{}, cmd.Process.Pid, testRate, d, Keep{Samples: true, Stacks: true}); err != nil {
			t.Fatal(err)
		}
		if s.Wall < d.Seconds() {
			t.Errorf("watched for %v s, want %v", s.Wall, d)
		}
		if s.CPU >= 0.1 || d > testenv.Patience {
			break
		}
	}
	checkWhere(t, s)
	if s.CPU <= 0 || s.PeakRSS == nil || *s.PeakRSS < 1<<20 {
		t.Errorf("got %+v", s)
	}
	own := s.Profile.Share(profile.Program).Fraction
	if testenv.Race {
		own += s.Profile.Share(profile.Other).Fraction // the race detector's, which is in C
	}
	if own < 0.5 {
		t.Errorf("a program that only computes: %+v", s.Profile.Classes)
	}
	if names := functions(t, s); !names["trial.burn"] {
		t.Errorf("trial.burn is not in %v", names)
	}
}

// TestAttachEnds checks that the watch ends with the process, and with its context.
func TestAttachEnds(t *testing.T) {
	needSampling(t)
	cmd := roleCmd("burn", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	if _, err := Attach(t.Context(), procmem.FS{}, cmd.Process.Pid, testRate, time.Hour, Keep{}); err != nil &&
		!strings.Contains(err.Error(), "no such process") {
		t.Error(err)
	}
	<-ended

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Attach(ctx, procmem.FS{}, os.Getpid(), testRate, time.Hour, Keep{}); err != nil {
		t.Error(err)
	}
	if _, err := Attach(t.Context(), procmem.FS{}, cmd.Process.Pid, testRate, time.Hour, Keep{}); err == nil ||
		!strings.Contains(err.Error(), "no such process") {
		t.Errorf("a process that has ended: got %v", err)
	}
}
