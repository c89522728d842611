// Command goheap shows what huge pages do for the heap of Go programs, by each way of
// getting them that Folio has.
//
//	go run ./cmd/bench/goheap [-rounds 6] [-only map,cache,bleve,sparse,shrink] [-quick]
//
// Five workloads: a map of 8 million entries that is looked up in no order; a
// ristretto cache with more than a GiB of live heap, and an in-memory bleve index (both
// in a module of their own, in peers); a heap with next to nothing left in each
// window; and one that shrinks to that, while khugepaged runs with max_ptes_none=511
// and hardly rests.
// Each as it is, with package auto, with auto and a reserve, collapsed from
// outside while it runs, and with THP=always for the whole system.
//
// Fresh processes, in random order in every round. The tables have medians, and
// ratios within the rounds with their intervals. Settings of the system are
// changed before a trial that needs it and put back after it, also when this
// program is ended; that, and collapsing from outside, needs root.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/foliomem/folio/cmd/bench/internal/guarded"
	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/touch"
	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/internal/system/procmem"
)

func main() {
	guarded.Play()
	if touch.Asked() {
		exit(touch.Main())
	}
	b := &bench{fs: procmem.New("")}
	flag.IntVar(&b.rounds, "rounds", 6, "rounds")
	only := flag.String("only", "", "only workloads in this list of names")
	arms := flag.String("arms", "", "only arms in this list of names, and stock")
	quick := flag.Bool("quick", false, "small and once: shows that it works, no more")
	flag.BoolVar(&b.verbose, "v", false, "print the figures of each trial")
	flag.Parse()
	if *quick {
		b.rounds, b.quick = 1, true
	}
	b.arms = names(*arms)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := b.run(ctx, names(*only), os.Stdout)
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "goheap:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// names is a list as a set; the empty one has all.
func names(list string) func(string) bool {
	return func(name string) bool {
		if list == "" {
			return true
		}
		for n := range strings.SplitSeq(list, ",") {
			if n == name {
				return true
			}
		}
		return false
	}
}

type bench struct {
	rounds         int
	quick, verbose bool
	arms           func(string) bool
	fs             procmem.FS
	machine        quiet.Machine
	settings       *settings.Changer
	programs       map[string]string
	dir            string
}

func (b *bench) run(ctx context.Context, only func(string) bool, w io.Writer) (err error) {
	if b.dir, err = os.MkdirTemp("", "goheap"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.settings, err = guarded.New(); err != nil {
		return err
	}
	defer func() {
		if cerr := b.settings.Close(); err == nil {
			err = cerr
		}
	}()
	b.programs = map[string]string{}
	for _, l := range workloads {
		if !only(l.name) {
			continue
		}
		if err := b.build(ctx, l); err != nil {
			return err
		}
		if err := b.measure(ctx, l, w); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// program is the path of a program that was built.
func (b *bench) program(pkg string) string { return b.programs[pkg] }

func (b *bench) build(ctx context.Context, l workload) error {
	for _, pkg := range []string{l.pkg, "./cmd/folio"} {
		if b.programs[pkg] != "" {
			continue
		}
		out := filepath.Join(b.dir, filepath.Base(pkg))
		dir, name := ".", pkg
		if l.module && pkg == l.pkg {
			dir, name = pkg, "."
		}
		if err := command(ctx, "go", "build", "-C", dir, "-o", out, name); err != nil {
			return fmt.Errorf("build %s (run this from the root of the repository): %w", pkg, err)
		}
		b.programs[pkg] = out
	}
	return nil
}
