package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/system/procmem"
)

// An arm is a program to compare and what was measured of it so far.
type arm struct {
	name    string
	command []string
	env     []string
	missing string // why it cannot be run, and what helps
	samples []sample
}

// sample is what one process took.
type sample struct {
	wall, user, sys float64 // seconds
	rss             float64 // peak, in bytes
	faults          float64 // minor
	stolen          float64 // seconds that the host ran something else, on all processors
	out             string
}

// disturbed reports whether the host took a processor from this machine for more than one in a hundred
// of the time of all of them.
func (s sample) disturbed() bool { return s.stolen > s.wall*float64(runtime.NumCPU())/100 }

// clean is this process's environment without what changes how a program
// allocates.
func clean() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		switch name {
		case "GOGC", "GOMEMLIMIT", "GODEBUG", "GOMAXPROCS", "GLIBC_TUNABLES", "MALLOC_CONF", "LD_PRELOAD", "FOLIO":
			return true
		}
		return strings.HasPrefix(name, "MALLOC_") || strings.HasPrefix(name, "MIMALLOC_") || strings.HasPrefix(name, "TCMALLOC_")
	})
}

// once runs the arm in a fresh process.
func (a *arm) once() (sample, error) {
	cmd := exec.Command(a.command[0], a.command[1:]...)
	cmd.Env = append(clean(), a.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	before, stolenErr := procmem.New("").Stolen()
	start := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(start).Seconds(), out: stdout.String()}
	if after, err := procmem.New("").Stolen(); stolenErr == nil && err == nil {
		s.stolen = (after - before).Seconds()
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w: %s", a.name, err, strings.TrimSpace(stderr.String()))
	}
	s.user, s.sys = cmd.ProcessState.UserTime().Seconds(), cmd.ProcessState.SystemTime().Seconds()
	s.rss, s.faults = usage(cmd.ProcessState)
	return s, nil
}

// held is this machine, while arms run.
var held quiet.Machine

// round runs each arm that can be run once, in random order, and adds what it
// took to the samples. check is told what an arm wrote.
func round(arms []*arm, keep bool, check func(out string) error) error {
	return quiet.Rounds(1, len(arms), func(_, i int) error {
		a := arms[i]
		if a.missing != "" {
			return nil
		}
		var s sample
		err := held.Trial(func() (err error) {
			s, err = a.once()
			return err
		})
		if err != nil {
			return err
		}
		if err := check(s.out); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if keep {
			a.samples = append(a.samples, s)
		}
		return nil
	})
}

// chosen returns the arms whose name only matches, and those named always.
func chosen(arms []*arm, only *regexp.Regexp, always ...string) (out []*arm) {
	for _, a := range arms {
		if only.MatchString(a.name) || slices.Contains(always, a.name) {
			out = append(out, a)
		}
	}
	return out
}

// A figure is a number of a sample.
type figure func(sample) float64

func wall(s sample) float64   { return s.wall }
func user(s sample) float64   { return s.user }
func system(s sample) float64 { return s.sys }
func cpu(s sample) float64    { return s.user + s.sys }
func rss(s sample) float64    { return s.rss }
func faults(s sample) float64 { return s.faults }

func (a *arm) values(f figure) []float64 {
	out := make([]float64, len(a.samples))
	for i, s := range a.samples {
		out[i] = f(s)
	}
	return out
}

func (a *arm) median(f figure) float64 { return stat.Median(a.values(f)) }

// ratio is a's figure over base's, round by round; unknown if either was not run.
func ratio(a, base *arm, f figure) (stat.Summary, bool) {
	if a == nil || base == nil || len(a.samples) == 0 || len(base.samples) == 0 {
		return stat.Summary{Median: math.NaN()}, false
	}
	return stat.PairedRatio(base.values(f), a.values(f)), true
}

func times(s stat.Summary, known bool) string {
	if !known || math.IsNaN(s.Median) {
		return "-"
	}
	return fmt.Sprintf("%.3gx [%.3g, %.3g]", s.Median, s.Lo, s.Hi)
}

func named(arms []*arm, name string) *arm {
	for _, a := range arms {
		if a.name == name {
			return a
		}
	}
	return nil
}

// progress is shown on standard error: a table takes many minutes.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "arena: "+format+"\n", args...)
}
