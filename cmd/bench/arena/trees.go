package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/system/procmem"
)

// minDepth is that of the smallest trees, in all programs.
const minDepth = 4

var nan = math.NaN()

// The arms that others are compared with.
const (
	stock       = "Go: new"
	goArena     = "Go: " + experiment
	folio       = "Go: Folio"
	cMimalloc   = "C: mimalloc"
	cBump       = "C: bump, huge pages"
	cBumpZero   = "C: bump, huge pages, zeroing"
	rustBump    = "Rust: bumpalo"
	rustZeroing = "Rust: bumpalo, zeroing"

	folioReset       = "Go: Folio, an arena a thread, reset"
	rustResetZeroing = "Rust: bumpalo, a Bump a thread, reset, zeroing"
)

// treeArms builds the programs and returns the arms.
func treeArms(b *builder, depth int) []*arm {
	threads := strconv.Itoa(runtime.NumCPU())
	var arms []*arm
	add := func(name, path string, err error, env []string, args ...string) {
		a := &arm{name: name, command: append([]string{path}, args...), env: env}
		if err != nil {
			// The first line says it; compilers say more.
			a.missing, _, _ = strings.Cut(err.Error(), "\n")
		}
		arms = append(arms, a)
	}
	d := strconv.Itoa(depth)

	path, err := b.golang("trees")
	goTrees := func(name string, env []string, args ...string) {
		add(name, path, err, env, append(args, "-threads", threads, d)...)
	}
	goTrees(stock, nil)
	goTrees("Go: new, GOGC=400", []string{"GOGC=400"})
	goTrees("Go: new, GOGC=800", []string{"GOGC=800"})
	limit := limitGiB()
	goTrees(fmt.Sprintf("Go: new, GOGC=off GOMEMLIMIT=%dGiB", limit), []string{"GOGC=off", fmt.Sprintf("GOMEMLIMIT=%dGiB", limit)})
	// Source of the batches: the arenas of golang.org/issue/51667 take 1 MiB.
	const batch = "1048576"
	const unlimited = "1073741824" // more than all trees of a run of any sensible depth
	path, err = b.goArenas("trees")
	goTrees(goArena, nil, "-with", "goarena")
	goTrees(goArena+", trees of 1 MiB an arena", nil, "-with", "goarena", "-batch", batch)
	path, err = b.golang("trees")
	goTrees(folio, nil, "-with", "folio")
	goTrees(folio+", no early release", nil, "-with", "folio", "-idle", unlimited)
	goTrees(folio+", base pages", nil, "-with", "folio", "-base")
	goTrees(folio+", base pages, no early release", nil, "-with", "folio", "-base", "-idle", unlimited)
	goTrees(folio+", trees of 1 MiB an arena", nil, "-with", "folio", "-batch", batch)
	goTrees(folioReset, nil, "-with", "folio", "-reset")

	c := func(l library) func(name string, env []string, args ...string) {
		path, err := b.c(l)
		return func(name string, env []string, args ...string) {
			add(name, path, err, env, append([]string{d, threads}, args...)...)
		}
	}
	do := c(glibc)
	do("C: malloc of glibc", nil)
	do("C: malloc of glibc, huge pages", []string{"GLIBC_TUNABLES=glibc.malloc.hugetlb=1"})
	do = c(mimalloc)
	do(cMimalloc, nil)
	do(cMimalloc+", huge pages", []string{"MIMALLOC_LARGE_OS_PAGES=1", "MIMALLOC_ALLOW_LARGE_OS_PAGES=1"})
	do = c(jemalloc)
	do("C: jemalloc", nil)
	do("C: jemalloc, huge pages", []string{"MALLOC_CONF=thp:always"})
	do = c(tcmalloc)
	do("C: tcmalloc_minimal", nil)
	do = c(apr)
	do("C: apr_pools", nil)
	do = c(bump)
	do(cBump, nil, "huge")
	do(cBumpZero, nil, "huge", "zero")
	do("C: bump, base pages", nil, "base")

	path, err = b.bumpalo()
	add(rustBump, path, err, nil, d, threads)
	add(rustZeroing, path, err, nil, d, threads, "zero")
	add("Rust: bumpalo, a Bump a thread, reset", path, err, nil, d, threads, "reset")
	add(rustResetZeroing, path, err, nil, d, threads, "reset", "zero")
	return arms
}

// limitGiB is a memory limit for the arm without GOGC: 4 GiB, less where memory is
// short.
func limitGiB() int {
	m, err := procmem.New("").Meminfo()
	if err != nil || m.MemAvailable == nil {
		return 4
	}
	return int(min(4, max(1, *m.MemAvailable*7/10>>30)))
}

// counts is what every program of trees must print.
func counts(depth int) string {
	nodes := func(d int) int { return 2<<d - 1 }
	s := fmt.Sprintf("stretch tree of depth %d\t check: %d\n", depth+1, nodes(depth+1))
	for d := minDepth; d <= depth; d += 2 {
		n := 1 << (depth - d + minDepth)
		s += fmt.Sprintf("%d\t trees of depth %d\t check: %d\n", n, d, n*nodes(d))
	}
	return s + fmt.Sprintf("long lived tree of depth %d\t check: %d\n", depth, nodes(depth))
}

func runTrees(c config, b *builder, w io.Writer) error {
	progress("building the programs")
	arms := chosen(treeArms(b, c.depth), c.only, stock, folio)
	want := counts(c.depth)
	check := func(out string) error {
		if out != want {
			return errors.New("its counts are wrong: it printed\n" + out)
		}
		return nil
	}
	progress("warming up")
	if err := touchMemory(); err != nil {
		return err
	}
	if err := round(arms, false, check); err != nil {
		return err
	}
	for i := range c.rounds {
		progress("round %d of %d", i+1, c.rounds)
		if err := touchMemory(); err != nil {
			return err
		}
		if err := round(arms, true, check); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "Binary trees, depth %d, %d threads, %d rounds; %s. All arms printed the same counts.\n\n", c.depth,
		runtime.NumCPU(), c.rounds, machine())
	treeTable(w, arms)
	boundTable(w, arms)
	return nil
}

func treeTable(w io.Writer, arms []*arm) {
	first, ours := named(arms, stock), named(arms, folio)
	tb := table.New(w, "arm", "wall s", "user s", "sys s", "cpu s", "RSS MiB", "minor faults", "wall, of new's", "wall, of Folio's")
	for _, a := range arms {
		if a.missing != "" {
			continue
		}
		t := stat.Summarize(a.values(wall))
		tb.Rowf("%s | %.2f [%.2f, %.2f] | %.2f | %.2f | %.2f | %s | %s | %s | %s", a.name,
			t.Median, t.Lo, t.Hi, a.median(user), a.median(system), a.median(cpu),
			known("%.0f", a.median(rss)/(1<<20)), known("%.0f", a.median(faults)),
			times(ratio(a, first, wall)), times(ratio(a, ours, wall)))
	}
	for _, a := range arms {
		if a.missing != "" {
			fmt.Fprintf(w, "\nNot run: %s: %s\n", a.name, a.missing)
		}
	}
}

// known prints a number that may not be known.
func known(format string, x float64) string {
	if math.IsNaN(x) {
		return "?"
	}
	return fmt.Sprintf(format, x)
}

// A bound is a promise about Folio's default arm, or the arm that is named. Those without
// a limit are distances that are only stated.
type bound struct {
	what  string
	arm   string // "": Folio, defaults
	base  string
	of    figure
	limit float64
}

var bounds = []bound{
	{"CPU time, of bumpalo's in Rust, zeroing alike", "", rustZeroing, cpu, 1.25},
	{"CPU time of an arena a thread, reset, of bumpalo's same, zeroing alike", folioReset, rustResetZeroing, cpu, 1.2},
	{"wall, of new's", "", stock, wall, 0.12},
	{"wall, of " + experiment + "'s", "", goArena, wall, 0.20},
	{"wall, of mimalloc's in C", "", cMimalloc, wall, 0.85},
	{"wall, of bumpalo's in Rust, zeroing alike", "", rustZeroing, wall, 1.1},
	{"CPU time, of bumpalo's in Rust, not zeroing", "", rustBump, cpu, 0},
	{"CPU time, of a bump allocator's on huge pages in C, zeroing alike", "", cBumpZero, cpu, 0},
	{"minor faults, of new's", "", stock, faults, 0.02},
	{"peak RSS, of new's", "", stock, rss, 0.5},
}

func boundTable(w io.Writer, arms []*arm) {
	fmt.Fprintln(w)
	t := table.New(w, folio+", defaults", "measured", "at most", "met")
	for _, b := range bounds {
		r, ok := ratio(named(arms, cmp.Or(b.arm, folio)), named(arms, b.base), b.of)
		limit := "-"
		if b.limit > 0 {
			limit = fmt.Sprintf("%.2fx", b.limit)
		}
		t.Row(b.what, times(r, ok), limit, b.verdict(r, ok))
	}
}

// verdict goes by the median, and says so when the interval has the limit in it.
func (b bound) verdict(r stat.Summary, measured bool) string {
	switch {
	case b.limit == 0:
		return "-"
	case !measured || math.IsNaN(r.Median):
		return "not measured"
	}
	v := "yes"
	if r.Median > b.limit {
		v = "no"
	}
	if r.Lo <= b.limit && b.limit < r.Hi {
		v += ", but the interval has the limit in it"
	}
	return v
}
