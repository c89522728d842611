// Command truth compares what folio run says of a run with what others say of the same
// run.
//
//	go run ./cmd/bench/truth [-runs 3] [-only name]
//
// Each program runs under folio run below a witness in C, which has wait4's account of
// it; the programs of this directory also say what runtime/metrics and smaps have, and
// profile themselves (runtime/pprof). The time of runtime/metrics is that of GC workers
// from start to end, also while they wait for a CPU, without sweeps and write barriers:
// it is shown, not compared with the GC share. GC
// cycles of the others are the lines of GODEBUG=gctrace=1, which they write to standard error. Once on the machine as it is, once beside a busy loop for each
// CPU. The tables have medians of
// what the others say, and how folio differed in the run where it did most. Needs Linux and a C compiler.
//
// Wanted: wall and CPU time of programs of 100 ms and more within 1%, GC share of 500
// samples and more within 3 points.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/bench/truth/own/say"
	"github.com/foliomem/folio/cmd/internal/base/stat"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "hog" {
		for {
			spins.Add(1)
		}
	}
	runs := flag.Int("runs", 3, "runs of each program, quiet and beside the hogs")
	only := flag.String("only", "", "only programs whose name has this")
	flag.Parse()
	if err := run(*runs, *only, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		os.Exit(1)
	}
}

// spins is what a hog counts.
var spins atomic.Uint64

func run(runs int, only string, w io.Writer) error {
	dir, err := os.MkdirTemp("", "truth")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir}
	if b.folio, err = programs.Folio(dir); err != nil {
		return err
	}
	if b.witness, err = witness(dir); err != nil {
		return err
	}
	all, err := prepare(dir, only)
	if err != nil {
		return err
	}
	for _, hogs := range []int{0, runtime.NumCPU()} {
		end, err := hog(hogs)
		if err != nil {
			return err
		}
		err = b.table(w, all, runs, hogs)
		end()
		if err != nil {
			return err
		}
	}
	return nil
}

// hog starts busy loops.
func hog(n int) (end func(), err error) {
	var all []*exec.Cmd
	end = func() {
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	for range n {
		cmd := exec.Command(os.Args[0], "hog")
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		if err := cmd.Start(); err != nil {
			end()
			return nil, err
		}
		all = append(all, cmd)
	}
	return end, nil
}

type bench struct{ dir, folio, witness string }

func (b *bench) table(w io.Writer, all []program, runs, hogs int) error {
	where := "As the machine was"
	if hogs > 0 {
		where = fmt.Sprintf("Beside %d busy loops", hogs)
	}
	fmt.Fprintf(w, "\n%s, %d runs each:\n\n", where, runs)
	t := table.New(w, "program", "wall", "folio", "CPU", "folio", "peak RSS", "folio", "page faults", "folio", "GC cycles", "folio",
		"samples", "GC share by runtime/pprof", "folio", "GC by runtime/metrics", "folio, marking and assists")
	for _, p := range all {
		var pairs []pair
		for i := range runs {
			one, err := b.once(p, i)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			pairs = append(pairs, one)
		}
		t.Rowf("%s", row(p, pairs))
	}
	return nil
}

// figures are those of a run by one source; what it does not know is NaN.
type figures struct{ wall, cpu, rss, faults, cycles, gc, mark, samples float64 }

type pair struct{ truth, folio figures }

var gcLine = regexp.MustCompile(`(?m)^gc [0-9]+ @[0-9.]+s `)

func (b *bench) once(p program, run int) (one pair, err error) {
	said, waited, result := filepath.Join(b.dir, "said"), filepath.Join(b.dir, "waited"), filepath.Join(b.dir, "result.json")
	for _, path := range []string{said, said + ".pprof"} {
		_ = os.Remove(path)
	}
	args := []string{"run", "--json", result}
	if p.traced {
		args = append(args, "--env", "GODEBUG=gctrace=1")
	}
	args = append(append(args, "--", b.witness, waited), p.of(run)...)
	cmd := exec.Command(b.folio, args...)
	var stderr strings.Builder
	cmd.Dir, cmd.Stderr = p.dir, &stderr
	cmd.Env = append(append(os.Environ(), "TRUTH="+said), p.env...)
	if err := cmd.Run(); err != nil {
		return one, fmt.Errorf("%w: %s", err, stderr.String()[max(0, stderr.Len()-1000):])
	}
	if one.folio, err = readFolio(result); err != nil {
		return one, err
	}
	one.truth, err = readTruth(waited, said)
	if p.traced {
		one.truth.cycles = float64(len(gcLine.FindAllString(stderr.String(), -1)))
	}
	return one, err
}

// readTruth reads what the witness and, if it does, the program say.
func readTruth(waited, said string) (f figures, err error) {
	data, err := os.ReadFile(waited)
	if err != nil {
		return f, err
	}
	var user, sys, ownUser, ownSys, minor, major, ownMinor, ownMajor float64
	if _, err := fmt.Sscan(string(data), &f.wall, &user, &sys, &f.rss, &minor, &major, &ownUser, &ownSys, &ownMinor, &ownMajor); err != nil {
		return f, err
	}
	f.cpu, f.rss, f.faults = user+sys+ownUser+ownSys, f.rss*1024, minor+major+ownMinor+ownMajor
	f.cycles, f.gc, f.mark = math.NaN(), math.NaN(), math.NaN()
	if data, err = os.ReadFile(said); err != nil {
		return f, nil
	}
	var s say.Said
	if err := json.Unmarshal(data, &s); err != nil {
		return f, err
	}
	if s.Smaps > s.Peak+s.Peak/100 {
		return f, fmt.Errorf("smaps has %d bytes where the peak is %d", s.Smaps, s.Peak)
	}
	f.cycles, f.mark, f.rss = float64(s.Cycles), s.GC/(user+sys), float64(s.Peak)
	f.gc, err = collected(said + ".pprof")
	return f, err
}

// readFolio reads a result of folio run.
func readFolio(path string) (f figures, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	var r struct {
		Arms []struct {
			Samples []struct {
				Wall   float64  `json:"wall_seconds"`
				CPU    float64  `json:"cpu_seconds"`
				RSS    *float64 `json:"peak_rss_bytes"`
				Minor  float64  `json:"minor_faults"`
				Major  float64  `json:"major_faults"`
				Cycles *float64 `json:"gc_cycles"`
				GC     *float64 `json:"gc_cpu_fraction"`
				Where  *struct {
					Samples float64 `json:"samples"`
					Classes []struct {
						Class    string  `json:"class"`
						Fraction float64 `json:"fraction"`
					} `json:"classes"`
				} `json:"profile"`
			} `json:"samples"`
		} `json:"arms"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return f, err
	}
	if len(r.Arms) != 1 || len(r.Arms[0].Samples) != 1 {
		return f, fmt.Errorf("%s has not one sample", path)
	}
	s := r.Arms[0].Samples[0]
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	f = figures{wall: s.Wall, cpu: s.CPU, rss: known(s.RSS), faults: s.Minor + s.Major, cycles: known(s.Cycles), gc: known(s.GC)}
	if s.Where != nil {
		f.samples = s.Where.Samples
		for _, c := range s.Where.Classes {
			if c.Class == "gc_mark" || c.Class == "gc_assist" {
				f.mark += c.Fraction
			}
		}
	}
	return f, nil
}

// row has the medians of what the others say, and how folio differs from them at most.
func row(p program, pairs []pair) string {
	of := func(get func(figures) float64, show func(float64) string, differ func(folio, truth float64) string) string {
		var truth []float64
		var diff []pairOf
		for _, one := range pairs {
			t, f := get(one.truth), get(one.folio)
			if !math.IsNaN(t) {
				truth = append(truth, t)
			}
			if !math.IsNaN(t) && !math.IsNaN(f) {
				diff = append(diff, pairOf{f, t})
			}
		}
		switch {
		case len(truth) == 0:
			return "- | -"
		case len(diff) == 0:
			return show(stat.Median(truth)) + " | not known"
		}
		return show(stat.Median(truth)) + " | " + worst(diff, differ)
	}
	samples := make([]float64, len(pairs))
	for i, one := range pairs {
		samples[i] = one.folio.samples
	}
	return strings.Join([]string{
		p.name,
		of(func(f figures) float64 { return f.wall }, milli, ratio),
		of(func(f figures) float64 { return f.cpu }, milli, ratio),
		of(func(f figures) float64 { return f.rss }, mib, ratio),
		of(func(f figures) float64 { return f.faults }, count, ratio),
		of(func(f figures) float64 { return f.cycles }, count, less),
		count(stat.Median(samples)),
		of(func(f figures) float64 { return f.gc }, percent, points),
		of(func(f figures) float64 { return f.mark }, percent, points),
	}, " | ")
}

type pairOf struct{ folio, truth float64 }

// worst is the difference of the run that has the largest.
func worst(diff []pairOf, differ func(folio, truth float64) string) string {
	at, most := 0, -1.0
	for i, d := range diff {
		if by := math.Abs(d.folio-d.truth) / max(math.Abs(d.truth), 1e-12); by > most {
			at, most = i, by
		}
	}
	return differ(diff[at].folio, diff[at].truth)
}

func milli(v float64) string   { return fmt.Sprintf("%.1f ms", 1e3*v) }
func mib(v float64) string     { return fmt.Sprintf("%.1f MiB", v/(1<<20)) }
func percent(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) }
func count(v float64) string   { return fmt.Sprintf("%.0f", v) }

func ratio(folio, truth float64) string {
	if truth == 0 {
		return fmt.Sprintf("%+.0f", folio)
	}
	return fmt.Sprintf("%+.2f%%", 100*(folio/truth-1))
}
func less(folio, truth float64) string   { return fmt.Sprintf("%+.0f", folio-truth) }
func points(folio, truth float64) string { return fmt.Sprintf("%+.1f", 100*(folio-truth)) }
