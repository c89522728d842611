// Command overhead measures what folio run costs over the bare command.
//
//	go run ./bench/overhead [-rounds 40]
//
// Every round runs each program bare, with the runtime's trace thrown away, and
// under folio run with more and more of what it measures, in random order, in
// fresh processes, and takes the differences to the bare run; the table has the
// medians over the rounds with their intervals. The promise is 10 ms and 1% of
// the wall time, and 2% for sampling 997 times a second.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/bench/internal/programs"
	"github.com/foliomem/folio/internal/stat"
)

func main() {
	rounds := flag.Int("rounds", 40, "rounds")
	flag.Parse()
	if err := run(*rounds, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "overhead:", err)
		os.Exit(1)
	}
}

func run(rounds int, w io.Writer) error {
	dir, err := os.MkdirTemp("", "overhead")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	folio, err := programs.Folio(dir)
	if err != nil {
		return err
	}
	progs, err := programs.Prepare(dir)
	if err != nil {
		return err
	}
	// The shortest Go program that every machine has shows the constant part.
	progs = append([]programs.Program{{Name: "gofmt of nothing", Command: progs[0].Command[:1]}}, progs...)
	fmt.Fprintf(w, "| program | bare |")
	for _, a := range arms[1:] {
		fmt.Fprintf(w, " %s |", a.name)
	}
	fmt.Fprintf(w, " allowed: 10 ms + 1%% |\n|%s\n", strings.Repeat("---|", len(arms)+2))
	for _, p := range progs {
		took, err := measure(folio, p, rounds)
		if err != nil {
			return err
		}
		bare := stat.Median(took[0])
		fmt.Fprintf(w, "| %s | %.1f ms |", p.Name, 1e3*bare)
		for _, t := range took[1:] {
			diff := make([]float64, rounds)
			for i := range diff {
				diff[i] = t[i] - took[0][i]
			}
			d := stat.Summarize(diff)
			fmt.Fprintf(w, " %+.1f ms [%+.1f, %+.1f] |", 1e3*d.Median, 1e3*d.Lo, 1e3*d.Hi)
		}
		fmt.Fprintf(w, " %.1f ms |\n", 10+10*bare)
	}
	return nil
}

// arms are the ways to run a program; the first is the bare command.
var arms = []struct {
	name  string
	folio bool
	flags []string
	env   string
}{
	{name: "bare"},
	{name: "its trace alone", env: "GODEBUG=gctrace=1"},
	{name: "folio run --no-gctrace", folio: true, flags: []string{"--no-gctrace"}},
	{name: "folio run", folio: true},
	{name: "--sample-rate 499", folio: true, flags: []string{"--sample-rate", "499"}},
	{name: "--sample-rate 997", folio: true, flags: []string{"--sample-rate", "997"}},
}

// measure returns the wall times of each arm by round.
func measure(folio string, p programs.Program, rounds int) ([][]float64, error) {
	took := make([][]float64, len(arms))
	for round := range rounds + 1 {
		for _, i := range rand.Perm(len(arms)) {
			a, argv := arms[i], p.Command
			if a.folio {
				argv = slices.Concat([]string{folio, "run"}, a.flags, []string{"--"}, p.Command)
			}
			t, err := once(argv, a.env)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
			if round > 0 { // else it is the warm-up
				took[i] = append(took[i], t)
			}
		}
	}
	return took, nil
}

func once(argv []string, env string) (float64, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	if env != "" {
		cmd.Env = append(os.Environ(), env)
	}
	start := time.Now()
	err := cmd.Run()
	return time.Since(start).Seconds(), err
}
