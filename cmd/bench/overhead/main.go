// Command overhead measures what folio run costs over the bare command.
//
//	go run ./cmd/bench/overhead [-rounds 40]
//
// Every round runs each program bare and under folio run with more and more of what it measures, in random order, in
// fresh processes, and takes the differences to the bare run; the first table has
// the medians over the rounds with their intervals. The promise is 10 ms and 1%
// of the wall time.
//
// The second table is of sampling, by the same rounds: what it adds to the wall
// time of the program itself, as folio run measures it, and to that of the whole
// command. The aim is 2% of the program's at 997 samples a second.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
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
	b := &bench{folio: folio, result: filepath.Join(dir, "result.json"), rounds: rounds}
	var all [][]timing
	for _, p := range progs {
		took, err := b.measure(p)
		if err != nil {
			return err
		}
		all = append(all, took)
	}
	head := []string{"program", "bare"}
	for _, a := range arms[1 : plain+1] {
		head = append(head, a.name)
	}
	t := table.New(w, append(head, "allowed: 10 ms + 1%")...)
	for i, p := range progs {
		bare := all[i][0]
		row := []string{p.Name, fmt.Sprintf("%.1f ms", 1e3*stat.Median(bare.whole))}
		for _, took := range all[i][1 : plain+1] {
			row = append(row, ms(took.whole, bare.whole))
		}
		t.Row(append(row, fmt.Sprintf("%.1f ms", 10+10*stat.Median(bare.whole)))...)
	}
	head = []string{"program", "its wall time"}
	for _, a := range arms[plain+1:] {
		head = append(head, a.name+", of it", "the whole command")
	}
	fmt.Fprintln(w)
	t = table.New(w, head...)
	for i, p := range progs {
		off := all[i][plain]
		row := []string{p.Name, fmt.Sprintf("%.1f ms", 1e3*stat.Median(off.program))}
		for _, took := range all[i][plain+1:] {
			row = append(row, percent(took.program, off.program), ms(took.whole, off.whole))
		}
		t.Row(row...)
	}
	return nil
}

// ms is the median of the differences, round by round.
func ms(a, b []float64) string {
	diff := make([]float64, len(a))
	for i := range diff {
		diff[i] = a[i] - b[i]
	}
	d := stat.Summarize(diff)
	return fmt.Sprintf("%+.1f ms [%+.1f, %+.1f]", 1e3*d.Median, 1e3*d.Lo, 1e3*d.Hi)
}

// percent is the median of the ratios, round by round.
func percent(a, b []float64) string {
	ratio := make([]float64, len(a))
	for i := range ratio {
		ratio[i] = a[i]/b[i] - 1
	}
	d := stat.Summarize(ratio)
	return fmt.Sprintf("%+.1f%% [%+.1f, %+.1f]", 100*d.Median, 100*d.Lo, 100*d.Hi)
}

// arms are the ways to run a program. The first is the bare command.
var arms = []struct {
	name  string
	folio bool
	flags []string
}{
	{name: "bare"},
	{name: "folio run --sample-rate 0 --no-gc", folio: true, flags: []string{"--sample-rate", "0", "--no-gc"}},
	{name: "folio run --sample-rate 0", folio: true, flags: []string{"--sample-rate", "0"}},
	{name: "499 samples/s", folio: true, flags: []string{"--sample-rate", "499"}},
	{name: "997 samples/s", folio: true, flags: []string{"--sample-rate", "997"}},
}

// plain is the arm without samples that those with them are compared with.
const plain = 2

type bench struct {
	folio, result string
	rounds        int
}

// timing is the wall times of an arm by round: of the whole command, and of the
// program, which only folio knows.
type timing struct{ whole, program []float64 }

func (b *bench) measure(p programs.Program) ([]timing, error) {
	took := make([]timing, len(arms))
	err := quiet.Rounds(b.rounds+1, len(arms), func(round, i int) error {
		a, argv := arms[i], p.Command
		if a.folio {
			argv = slices.Concat([]string{b.folio, "run", "--json", b.result}, a.flags, []string{"--"}, p.Command)
		}
		t, err := once(argv)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		of := t
		if a.folio {
			if of, err = b.wall(); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
		}
		if round > 0 { // else it is the warm-up
			took[i].whole = append(took[i].whole, t)
			took[i].program = append(took[i].program, of)
		}
		return nil
	})
	return took, err
}

// wall is the program's wall time in the result.
func (b *bench) wall() (float64, error) {
	data, err := os.ReadFile(b.result)
	if err != nil {
		return 0, err
	}
	var f struct {
		Arms []struct {
			Samples []struct {
				Wall float64 `json:"wall_seconds"`
			} `json:"samples"`
		} `json:"arms"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return 0, err
	}
	if len(f.Arms) != 1 || len(f.Arms[0].Samples) != 1 {
		return 0, errors.New("the result has not one sample")
	}
	return f.Arms[0].Samples[0].Wall, nil
}

func once(argv []string) (float64, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	start := time.Now()
	err := cmd.Run()
	return time.Since(start).Seconds(), err
}
