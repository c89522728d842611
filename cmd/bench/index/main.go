// Command index compares package auto with what else makes a full-text index take in
// documents faster: the table "auto against the patched runtime" of
// docs/lab-notes/patches.md, and the curve of docs/gctune.md.
//
//	go run ./cmd/bench/index [-rounds 6] [-limit 1GiB] [-gogc 200,300,400,800]
//	go run ./cmd/bench/index -mode curve [-rounds 6] [-within 5m] [-percpu 1GiB,2GiB,4GiB,8GiB,16GiB,64GiB,0]
//
// The program is that of folio lab index: bleve, 1,500 Go files in batches of 100, twice in
// each process. Mode compare runs it within a memory limit: as it is, with package auto and
// no setting, and built with heap-hugepages at each GOGC, GOMEMLIMIT being 96% of the
// limit. The best of the latter in a round is the one that is fastest in all other rounds,
// so that chance favors nobody. The limit is that of a cgroup, which needs what
// folio run --cgroup-memory needs.
//
// Mode parts has the two halves of package auto as well, each without the other: the tuner
// of the GC, and the huge pages with the settings of the patched runtime.
//
// Mode curve runs package auto without a limit at several prices of memory
// (FOLIO=percpu=SIZE), and shows what more memory buys.
//
// Each trial is a fresh process, in random order in every round. Ratios are taken within
// rounds: their medians, with 95% intervals, or the range where there are few rounds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/touch"
	"github.com/foliomem/folio/cmd/internal/lab/workload"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
)

func main() {
	if touch.Asked() {
		exit(touch.Main())
	}
	b := &bench{fs: procmem.New("")}
	mode := flag.String("mode", "compare", "compare, parts or curve")
	flag.IntVar(&b.rounds, "rounds", 6, "rounds")
	limit := flag.String("limit", "1GiB", "memory limit of the cgroup, in modes compare and parts")
	gogc := flag.String("gogc", "200,300,400,800", "GOGC of the patched runtime, in modes compare and parts")
	percpu := flag.String("percpu", "1GiB,2GiB,4GiB,8GiB,16GiB,64GiB,0", "memory that one CPU is worth, in mode curve")
	flag.DurationVar(&b.within, "within", 0, "`duration` for the rounds: one that would not end within it does not begin (default no bound)")
	flag.IntVar(&b.documents, "documents", 1500, "Go files to index")
	quick := flag.Bool("quick", false, "200 documents and one round: shows that it works, no more")
	flag.BoolVar(&b.verbose, "v", false, "print what each trial measured and logged")
	flag.Parse()
	if *quick {
		b.documents, b.rounds = 200, 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var err error
	switch {
	case flag.NArg() > 0 || b.rounds < 1:
		err = errors.New("want -rounds of at least 1, and no arguments")
	case *mode == "compare":
		if b.limit, err = unit.ParseSize(*limit); err == nil {
			err = b.run(ctx, b.compareArms(strings.Split(*gogc, ",")), compareTable, os.Stdout)
		}
	case *mode == "parts":
		if b.limit, err = unit.ParseSize(*limit); err == nil {
			err = b.run(ctx, b.partArms(strings.Split(*gogc, ",")), compareTable, os.Stdout)
		}
	case *mode == "curve":
		err = b.run(ctx, curveArms(strings.Split(*percpu, ",")), curveTable, os.Stdout)
	default:
		err = fmt.Errorf("-mode %s: want compare, parts or curve", *mode)
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "index:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// An arm is a build of the program and its environment.
type arm struct {
	name  string
	build string
	env   []string
}

const (
	stock   = "stock"
	auto    = "auto"
	patched = "patched"
)

func (b *bench) compareArms(gogc []string) []arm {
	arms := []arm{{name: "default", build: stock}, {name: auto, build: auto}}
	for _, v := range gogc {
		arms = append(arms, arm{name: "heap-hugepages, GOGC=" + v, build: patched,
			env: []string{"GOGC=" + v, fmt.Sprintf("GOMEMLIMIT=%d", b.limit/100*96)}})
	}
	return arms
}

// partArms are compareArms, and what each half of package auto does without the other.
func (b *bench) partArms(gogc []string) []arm {
	arms := append(b.compareArms(gogc), arm{name: "auto, gc only", build: auto, env: []string{"FOLIO=heap=off"}})
	for _, v := range gogc {
		arms = append(arms, arm{name: "auto, heap only, GOGC=" + v, build: auto,
			env: []string{"FOLIO=gc=off", "GOGC=" + v, fmt.Sprintf("GOMEMLIMIT=%d", b.limit/100*96)}})
	}
	return arms
}

func curveArms(prices []string) []arm {
	arms := []arm{{name: "default", build: stock}}
	for _, v := range prices {
		arms = append(arms, arm{name: "auto, percpu=" + v, build: auto, env: []string{"FOLIO=percpu=" + v}})
	}
	return arms
}

type bench struct {
	rounds, documents int
	verbose           bool
	within            time.Duration // for the rounds; 0 for no bound
	limit             uint64        // 0 for none
	fs                procmem.FS
	machine           quiet.Machine
	cgroups           *cgroup.Parent
	dir, list         string
	programs          map[string]string
}

func (b *bench) run(ctx context.Context, arms []arm, show func(io.Writer, []arm, [][]result), out io.Writer) (err error) {
	if b.dir, err = os.MkdirTemp("", "index"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.limit > 0 {
		if b.cgroups, err = cgroup.Open(b.fs, cgroup.Limits{Memory: &b.limit}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.cgroups.Close()) }()
	}
	b.programs = map[string]string{}
	for _, a := range arms {
		if err := b.build(ctx, a.build); err != nil {
			return err
		}
	}
	defer b.machine.Release()
	results := make([][]result, len(arms))
	w := quiet.Window{Most: b.within}
	err = quiet.Rounds(b.rounds, len(arms), func(round, i int) error {
		if !w.Fits(round) {
			return quiet.ErrTime
		}
		r, err := b.trial(ctx, arms[i])
		if err != nil {
			return fmt.Errorf("%s: %w", arms[i].name, err)
		}
		results[i] = append(results[i], r)
		return nil
	})
	if err != nil && !errors.Is(err, quiet.ErrTime) {
		return err
	}
	show(out, arms, results)
	fmt.Fprintf(out, "\n%s.\n", unit.Plural(len(results[0]), "round"))
	return nil
}

// build builds the program in one of three ways, unless it is there.
func (b *bench) build(ctx context.Context, how string) error {
	if b.programs[how] != "" {
		return nil
	}
	dir := filepath.Join(b.dir, how)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	var folio *workload.Folio
	if how == auto {
		var err error
		if folio, err = workload.FindFolio(); err != nil {
			return err
		}
	}
	source, err := workload.Index(dir, folio)
	if err != nil {
		return err
	}
	out := filepath.Join(dir, "program")
	env := append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	if b.list == "" {
		t, err := overlay.FindToolchain(ctx, "go", dir, env)
		if err != nil {
			return err
		}
		const size = 16 << 20
		paths, err := workload.Documents(t.Root, b.documents, size)
		if err != nil {
			return err
		}
		b.list = filepath.Join(b.dir, "documents")
		if err := workload.WriteDocuments(b.list, paths); err != nil {
			return err
		}
	}
	if how == patched {
		_, err = overlay.Build(ctx, overlay.BuildOptions{Dir: dir, Env: env, Flags: source.Flags, Package: ".", Out: out,
			Patches: []string{overlay.HeapHugePages}})
	} else {
		call := overlay.Call{Path: "go", Args: append(append([]string{"build", "-C", dir}, source.Flags...), "-o", out, "."), Env: env}
		var text []byte
		if text, err = call.Cmd(ctx).CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, text)
		}
	}
	if err != nil {
		return fmt.Errorf("build %s: %w", how, err)
	}
	b.programs[how] = out
	return nil
}
