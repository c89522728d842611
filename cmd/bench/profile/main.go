// Command profile compares where folio run says that time goes with what others
// say: the kernel's perf tool, and the profiler of the runtime (runtime/pprof).
//
//	go run ./cmd/bench/profile [-rounds 5] [-together] [-only NAME] [-folio FILE]
//	GOTOOLCHAIN=go1.27.4 go run ./cmd/bench/profile -other
//
// With -other it says how much of each program's time Folio puts into the class "other
// runtime work": at most 3% are allowed. That needs no perf. The programs are those of
// the toolchain that it runs with.
//
// It needs perf and must be allowed to see the kernel's side: run it as root, or
// with perf_event_paranoid at 1 and kptr_restrict at 0.
//
// Every round runs each program under perf record and under folio run, in fresh
// processes, in random order, both at 997 samples a second of CPU time. The
// stacks of perf script are put into classes by Folio's rules, so what is
// compared is how stacks are taken, named and weighed. The promise is that the
// share of each class is the same within 2 points.
//
// No two runs of a program are the same: what page faults cost on a busy machine
// can differ by more than that. With -together both sample the same runs, folio
// under perf, and all differences are theirs.
//
// Two things differ by design. Perf is told not to resolve inlined calls, which
// needs debug information and takes it minutes; so what an inlined function of the
// runtime or of sync does is the program's. The tables have perf's stacks twice:
// with perf's names, and with the inlined calls that the binary's own tables have
// for the addresses that perf took. And frame pointers lead past the caller of a
// function without a frame, such as memmove. Folio finds that caller, perf does
// not, and what it cannot ascribe so is the program's own work; the line below a
// table says how much that is at most. Folio's shares are of the CPU time
// that the kernel accounts for, user and system, perf's are of its samples.
//
// The second part runs a program that writes its own profile under folio run
// --pprof, and compares the functions that take most time, and those that
// allocate most.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

const (
	rate    = "997"
	allowed = 2 // points
)

func main() {
	rounds := flag.Int("rounds", 5, "rounds")
	together := flag.Bool("together", false, "let both sample the same runs")
	other := flag.Bool("other", false, "only measure how much is other runtime work")
	only := flag.String("only", "", "only programs whose name contains this; pprof for the second part alone")
	folio := flag.String("folio", "", "the folio command to measure with (default built from this tree)")
	flag.Parse()
	if err := run(*rounds, *together, *other, *only, *folio, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
		os.Exit(1)
	}
}

func run(rounds int, together, other bool, only, folio string, w io.Writer) error {
	dir, err := os.MkdirTemp("", "profile")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if folio == "" {
		if folio, err = programs.Folio(dir); err != nil {
			return err
		}
	}
	index, err := indexer(dir)
	if err != nil {
		return err
	}
	list, err := prepare(dir, index)
	if err != nil {
		return err
	}
	b := &bench{folio: folio, dir: dir, together: together}
	if other {
		list = slices.DeleteFunc(list, func(p program) bool { return !strings.Contains(p.name, only) })
		return b.other(w, list, rounds)
	}
	for _, p := range list {
		if !strings.Contains(p.name, only) {
			continue
		}
		if err := b.compare(w, p, rounds); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if !strings.Contains("pprof", only) {
		return nil
	}
	return b.profiles(w, index)
}

type bench struct {
	folio, dir string
	together   bool
}

// shares is what part of the CPU time classes have, 0 to 1.
type shares map[profile.Class]float64

// inKernel is not a class: all time on the kernel's side, whatever it was for.
const inKernel profile.Class = "in the kernel"

// compare measures a program and writes its table.
func (b *bench) compare(w io.Writer, p program, rounds int) error {
	var ours, named, resolved []shares
	blind, samples := 0.0, [2]int{}
	for range rounds {
		s, n, t, err := b.round(p)
		if err != nil {
			return err
		}
		ours = append(ours, s)
		named = append(named, t.shares(t.named))
		resolved = append(resolved, t.shares(t.resolved))
		blind += t.part(t.blind) / float64(rounds)
		samples[0] += n
		samples[1] += t.samples
	}
	fmt.Fprintf(w, "%s: %d rounds, %d samples of Folio, %d of perf\n\n", p.name, rounds, samples[0], samples[1])
	tb := table.New(w, "class", "Folio", "perf, its names", "difference", "perf, inlined calls resolved", "difference in points",
		fmt.Sprintf("at most %d", allowed))
	row := func(title string, of func(shares) float64) {
		a, n, c, diff := make([]float64, rounds), make([]float64, rounds), make([]float64, rounds), make([]float64, rounds)
		for i := range rounds {
			a[i], n[i], c[i] = 100*of(ours[i]), 100*of(named[i]), 100*of(resolved[i])
			diff[i] = a[i] - c[i]
		}
		if mean(a) == 0 && mean(c) == 0 {
			return
		}
		d, verdict := mean(a)-mean(c), "yes"
		if math.Abs(d) > allowed {
			verdict = "no"
		}
		tb.Rowf("%s | %.1f%% | %.1f%% | %+.1f | %.1f%% | %+.1f [%+.1f, %+.1f] | %s", title, mean(a),
			mean(n), mean(a)-mean(n), mean(c), d, slices.Min(diff), slices.Max(diff), verdict)
	}
	for _, k := range profile.Classes {
		row(k.Title, func(s shares) float64 { return s[k.Class] })
	}
	row("memory tax", func(s shares) (sum float64) {
		for _, k := range profile.Classes {
			if k.Memory {
				sum += s[k.Class]
			}
		}
		return sum
	})
	row("all on the kernel's side", func(s shares) float64 { return s[inKernel] })
	fmt.Fprintf(w, "\nIn brackets: the least and the greatest difference of a round. In %.1f%% of perf's samples the program moves or clears memory, and who asked for it is not on the stack.\n\n", 100*blind)
	return nil
}

func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}

// round samples the program with both: what Folio says, of how many samples, and
// what perf does.
func (b *bench) round(p program) (s shares, n int, t *tally, err error) {
	if b.together {
		if s, n, err = b.underFolio(p, b.perf()...); err == nil {
			t, err = b.readPerf(p)
		}
		return s, n, t, err
	}
	for _, i := range rand.Perm(2) {
		if i == 0 {
			s, n, err = b.underFolio(p)
		} else {
			t, err = b.underPerf(p)
		}
		if err != nil {
			return nil, 0, nil, err
		}
	}
	return s, n, t, nil
}

// underFolio returns what folio run says; before is a command to run that under.
func (b *bench) underFolio(p program, before ...string) (shares, int, error) {
	file := filepath.Join(b.dir, "result.json")
	// The trace costs time that perf's run does not have.
	command := append(before, b.folio, "run", "--no-gc", "--sample-rate", rate, "--json", file)
	command = append(append(append(command, p.server...), "--"), p.command...)
	if err := quiet(command[0], command[1:]...); err != nil {
		return nil, 0, err
	}
	var result struct {
		Arms []struct {
			Samples []struct {
				Sys   float64         `json:"sys_seconds"`
				CPU   float64         `json:"cpu_seconds"`
				Where *profile.Result `json:"profile"`
			} `json:"samples"`
		} `json:"arms"`
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, 0, err
	}
	if err := json.Unmarshal(data, &result); err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", file, err)
	}
	if len(result.Arms) == 0 || len(result.Arms[0].Samples) == 0 || result.Arms[0].Samples[0].Where == nil {
		return nil, 0, errors.New("folio run took no samples: run it by hand to see why")
	}
	sample := result.Arms[0].Samples[0]
	r := sample.Where
	if r.Lost > 0 || !r.Kernel {
		fmt.Fprintf(os.Stderr, "where: %s: %d samples lost; %q\n", p.name, r.Lost, r.Notes)
	}
	s := shares{inKernel: sample.Sys / sample.CPU}
	for _, c := range r.Classes {
		s[c.Class] = c.Fraction
	}
	return s, int(r.Samples), nil
}

// underPerf returns what perf samples of the program. A server is started, put
// under load and stopped by folio, which takes no samples then.
func (b *bench) underPerf(p program) (*tally, error) {
	command := append(b.perf(), p.command...)
	if p.server != nil {
		args := append([]string{b.folio, "run", "--no-gc", "--sample-rate", "0", "--ignore-exit"}, p.server...)
		command = append(append(args, "--"), command...)
	}
	if err := quiet(command[0], command[1:]...); err != nil {
		return nil, err
	}
	return b.readPerf(p)
}

func (b *bench) data() string { return filepath.Join(b.dir, "perf.data") }

// perf is the start of a command line that perf samples.
func (b *bench) perf() []string {
	return []string{"perf", "record", "-q", "-o", b.data(), "-e", "cpu-clock", "-F", rate, "-g", "--"}
}

// readPerf counts what perf sampled of the program.
func (b *bench) readPerf(p program) (*tally, error) {
	cmd := exec.Command("perf", "script", "-i", b.data(), "--no-inline", "-F", "comm,pid,tid,time,event,ip,sym,dso")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := &tally{path: p.command[0]}
	if t.file, err = symbol.Open(t.path); err == nil {
		defer t.file.Close()
		err = t.read(out, p.comm())
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("perf script: %w", err)
	}
	if t.samples == 0 {
		return nil, errors.New("perf took no samples")
	}
	return t, nil
}

// quiet runs a command and shows what it wrote to standard error if it fails.
func quiet(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// byAmount returns the names with the greatest amounts, largest first.
func byAmount(m map[string]float64, most int) []string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	return names[:min(len(names), most)]
}
