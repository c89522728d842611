package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
)

// That the load generator was late, by how much and what to do is said once, in a note.
func TestLateIsSaidOnce(t *testing.T) {
	const advice = "1 in 100 requests started more than 4.000ms late, where 1.000ms is allowed; lower the rate, or give generator and server CPUs of their own"
	late := func() *trial.Sample {
		l := &load.Result{Late: true, Complete: true, Counts: load.Counts{Intended: 9, Succeeded: 9}}
		l.Lateness.P99, l.Lateness.Bound = new(0.004), 0.001
		return &trial.Sample{Load: l, FailureKind: trial.FailedLate,
			Failure: "the load generator was late: " + advice}
	}
	for name, samples := range map[string][]*trial.Sample{"one": {late()}, "two": {late(), late()}} {
		notes := &stat.Notes{}
		trial.AddNotes(notes, samples, false)
		err := trial.Failed(samples, len(samples))
		if len(samples) == 1 {
			err = code(samples[0], true)
		}
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		text := strings.Join(append(notes.Texts(), err.Error()), "\n")
		if strings.Count(text, advice) != 1 {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Commands to paste repeat the conditions of a run, its timeouts too.
func TestConditions(t *testing.T) {
	for _, want := range [][]string{
		nil,
		{"--timeout", "1m30s"},
		{"--ready", "tcp:127.0.0.1:8080", "--load", "./load -n 3", "--cgroup-memory", "512MiB", "--cgroup-cpus", "1.5",
			"--timeout", "2m", "--ready-timeout", "1.5s", "--stop-timeout", "100ms"},
	} {
		f, fs := &programFlags{}, pflag.NewFlagSet("run", pflag.ContinueOnError)
		f.add(fs)
		if err := fs.Parse(want); err != nil {
			t.Fatal(err)
		}
		s := &session{}
		if err := s.parse(f); err != nil {
			t.Fatal(err)
		}
		s.record(&s.file.Program, f)
		if got := s.file.Program.Conditions(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Runs under a load take longer: they get a longer budget, where none is given.
func TestBudgets(t *testing.T) {
	for args, want := range map[string]time.Duration{
		"": tuneBudget, "--rate 100": loadedTuneBudget, "--rate auto": loadedTuneBudget, "--load x": tuneBudget,
		"--budget 7s": 7 * time.Second, "--rate 100 --budget 7s": 7 * time.Second,
	} {
		f, fs := &programFlags{}, pflag.NewFlagSet("tune", pflag.ContinueOnError)
		given := fs.Duration("budget", 0, "")
		f.add(fs)
		if err := fs.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if got := f.budgetOr(*given, tuneBudget, loadedTuneBudget); got != want {
			t.Errorf("%q: %v, want %v", args, got, want)
		}
	}
}
