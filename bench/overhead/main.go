// Command overhead measures what folio run costs over the bare command.
//
//	go run ./bench/overhead [-rounds 40]
//
// Every round runs each program bare and under folio run, in random order, in
// fresh processes, and takes the difference; the table has the medians over the
// rounds with their intervals. The promise is 10 ms and 1% of the wall time.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
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
	fmt.Fprintf(w, "| program | bare | folio run costs | allowed: 10 ms + 1%% |\n|---|---|---|---|\n")
	for _, p := range progs {
		bare, diff, err := measure(folio, p, rounds)
		if err != nil {
			return err
		}
		b, d := stat.Summarize(bare), stat.Summarize(diff)
		fmt.Fprintf(w, "| %s | %.1f ms | %+.1f ms [%+.1f, %+.1f] | %.1f ms |\n",
			p.Name, 1e3*b.Median, 1e3*d.Median, 1e3*d.Lo, 1e3*d.Hi, 10+10*b.Median)
	}
	return nil
}

// measure returns the wall time of the bare command and what folio adds, by round.
func measure(folio string, p programs.Program, rounds int) (bare, diff []float64, err error) {
	arms := [][]string{p.Command, append([]string{folio, "run", "--"}, p.Command...)}
	for round := range rounds + 1 {
		var took [2]float64
		for _, i := range rand.Perm(2) {
			if took[i], err = once(arms[i]); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", p.Name, err)
			}
		}
		if round == 0 {
			continue // warm-up
		}
		bare, diff = append(bare, took[0]), append(diff, took[1]-took[0])
	}
	return bare, diff, nil
}

func once(argv []string) (float64, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	start := time.Now()
	err := cmd.Run()
	return time.Since(start).Seconds(), err
}
