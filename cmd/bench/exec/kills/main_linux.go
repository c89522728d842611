// Command kills starts a program with folio exec, a thousand times, and kills
// folio, its helper or the program at random moments. Nothing may be left, stay
// stopped, or fail that was not killed itself.
//
//	go run ./cmd/bench/exec/kills [-n 1000] [-seed 1]
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/launch/killtest"
)

func main() {
	n := flag.Int("n", 1000, "starts")
	seed := flag.Uint64("seed", 1, "of the random moments")
	flag.Parse()
	if err := run(*n, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "kills:", err)
		os.Exit(1)
	}
}

func run(n int, seed uint64) error {
	dir, err := os.MkdirTemp("", "folio-kills-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	folio, probe := filepath.Join(dir, "folio"), filepath.Join(dir, "probe")
	for _, args := range [][]string{{"-o", folio, "./cmd/folio"}, {"-C", "cmd/bench/exec/versions/testdata/probe", "-o", probe, "."}} {
		cmd := exec.Command("go", append([]string{"build"}, args...)...)
		cmd.Env = append(os.Environ(), "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", cmd.Args, err, out)
		}
	}
	begin := time.Now()
	r, err := killtest.Test{
		Command: []string{folio, "exec", "--", probe}, Says: "go", Longest: 40 * time.Millisecond,
		Random: rand.New(rand.NewPCG(seed, 0)),
	}.Run(n)
	fmt.Printf("%d starts in %v: %d times folio or the program was killed, %d times the helper (%d of those programs ran well), %d undisturbed\n",
		r.Starts, time.Since(begin).Round(time.Second), r.KilledLauncher, r.KilledHelper, r.SurvivedKilling, r.Undisturbed)
	return err
}
