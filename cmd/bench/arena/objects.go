package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/bench/arena/internal/cell"
	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A group is the arms of one cell: new first.
type group struct {
	size, bytes int
	pointers    bool
	arms        []*arm
}

// done reads what a program wrote: how many operations, and in how many
// nanoseconds.
func done(out string) (n, ns float64, err error) {
	if _, err := fmt.Sscan(out, &n, &ns); err != nil {
		return 0, 0, fmt.Errorf("read its figures: %w: it printed %q", err, out)
	}
	if n <= 0 || ns <= 0 {
		return 0, 0, fmt.Errorf("its figures are not positive: %q", out)
	}
	return n, ns, nil
}

func checkDone(out string) error {
	_, _, err := done(out)
	return err
}

// perObject is the wall time of an object, by the program's own clock.
func perObject(s sample) float64 {
	n, ns, _ := done(s.out) // was checked
	return ns / n
}

// cpuPerObject is the CPU time of an object, the GC's with it. That
// of starting the process, some milliseconds of at least a hundred, is in it too.
func cpuPerObject(s sample) float64 {
	n, _, _ := done(s.out)
	return 1e9 * cpu(s) / n
}

// objectPeers are the arms after new. The last two need what may be missing.
var objectPeers = []struct{ name, arm string }{
	{"Folio, Of", "folio-of"},
	{"Folio, New", "folio-new"},
	{experiment, "goarena"},
	{"nuke", "nuke"},
}

func runObjects(c config, b *builder, w io.Writer) error {
	progress("building the programs")
	path, err := b.golang("objects")
	if err != nil {
		return err
	}
	paths := map[string]string{"folio-of": path, "folio-new": path}
	errs := make(map[string]error)
	paths["goarena"], errs["goarena"] = b.goArenas("objects")
	paths["nuke"], errs["nuke"] = b.nuke()

	groups, skipped := cells(c, path, paths, errs)
	steady := &arm{name: "steady", command: []string{path, "-arm", "steady"}}
	for i := range c.rounds {
		progress("round %d of %d: %d cells", i+1, c.rounds, len(groups))
		if err := touchMemory(); err != nil {
			return err
		}
		err := quiet.Rounds(1, len(groups), func(_, j int) error { return round(groups[j].arms, true, checkDone) })
		if err != nil {
			return err
		}
		if err := round([]*arm{steady}, true, checkDone); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "Cost of an object, %d rounds; %s. Rows of new are in ns, the others are relative to new, round by round; **bold** is slower than new: the whole interval, or the range of fewer than 6 rounds, lies above it.\n", c.rounds, machine())
	for _, t := range []struct {
		what string
		of   figure
	}{{"wall time", perObject}, {"CPU time", cpuPerObject}} {
		for _, pointers := range []bool{true, false} {
			objectTable(w, groups, t.what, pointers, t.of)
		}
	}
	slowerTable(w, groups)
	for _, p := range objectPeers {
		if err := errs[p.arm]; err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			fmt.Fprintf(w, "\nNot run: %s: %s\n", p.name, first)
		}
	}
	if skipped > 0 {
		fmt.Fprintf(w, "\nNot run: %d cells that may take more memory than this machine has to spare.\n", skipped)
	}
	s := stat.Summarize(steady.values(perObject))
	fmt.Fprintf(w, "\nOf[T].New of 16 bytes in an arena that is reset at 64 KiB: %.2f ns [%.2f, %.2f] (at most 2: %s)\n", s.Median, s.Lo,
		s.Hi, yes(s.Median <= 2))
	return nil
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// cells returns the groups, smallest arenas first, and how many there is no memory
// for.
func cells(c config, path string, paths map[string]string, errs map[string]error) (groups []*group, skipped int) {
	spare := uint64(math.MaxUint64)
	if m, err := procmem.New("").Meminfo(); err == nil && m.MemAvailable != nil {
		spare = *m.MemAvailable / 10 * 7
	}
	for _, pointers := range []bool{true, false} {
		for bytes := 1 << 10; bytes <= c.largest; bytes *= 4 {
			if bytes < c.smallest {
				continue
			}
			for _, size := range cell.Sizes {
				if bytes < size {
					continue
				}
				need := uint64(2 * bytes) // new has as much garbage as objects before a GC cycle ends
				if !pointers {
					need += uint64(bytes / size * 8) // the slice that holds them
				}
				if need > spare {
					skipped++
					continue
				}
				g := &group{size: size, bytes: bytes, pointers: pointers}
				args := []string{"-size", strconv.Itoa(size), "-arena", strconv.Itoa(bytes), "-pointers=" + strconv.FormatBool(pointers)}
				add := func(name, path, with string, err error) {
					a := &arm{name: name, command: append([]string{path, "-arm", with}, args...)}
					if err != nil {
						a.missing = err.Error()
					}
					g.arms = append(g.arms, a)
				}
				add("new", path, "new", nil)
				for _, p := range objectPeers {
					if c.only.MatchString(p.name) {
						add(p.name, paths[p.arm], p.arm, errs[p.arm])
					}
				}
				groups = append(groups, g)
			}
		}
	}
	return groups, skipped
}

func objectTable(w io.Writer, groups []*group, what string, pointers bool, of figure) {
	kind := "without pointers"
	if pointers {
		kind = "with pointers"
	}
	var columns []int
	cellOf := make(map[[2]int]*group)
	for _, g := range groups {
		if g.pointers != pointers {
			continue
		}
		if len(columns) == 0 || columns[len(columns)-1] < g.bytes {
			columns = append(columns, g.bytes)
		}
		cellOf[[2]int{g.size, g.bytes}] = g
	}
	head := []string{what + ", objects " + kind}
	for _, n := range columns {
		head = append(head, binary(n))
	}
	fmt.Fprintln(w)
	t := table.New(w, head...)
	names := []string{"new"}
	for _, p := range objectPeers {
		names = append(names, p.name)
	}
	for _, size := range cell.Sizes {
		for _, name := range names {
			row, filled := []string{fmt.Sprintf("%d B, %s", size, name)}, false
			for _, n := range columns {
				text := "-"
				if g := cellOf[[2]int{size, n}]; g != nil {
					text = entry(g, name, of)
				}
				filled = filled || text != "-"
				row = append(row, text)
			}
			if filled {
				t.Row(row...)
			}
		}
	}
}

// slowerTable lists the cells of Folio whose wall time is wholly above new's.
func slowerTable(w io.Writer, groups []*group) {
	var slower []string
	cells := 0
	for _, g := range groups {
		for _, p := range objectPeers[:2] {
			r, ok := ratio(named(g.arms, p.name), g.arms[0], perObject)
			if !ok {
				continue
			}
			cells++
			if r.Lo > 1 {
				slower = append(slower, fmt.Sprintf("%s, %d B in %s, pointers %v: %s", p.name, g.size, binary(g.bytes), g.pointers, times(r, ok)))
			}
		}
	}
	fmt.Fprintf(w, "\nCells of Folio whose wall time lies wholly above new's: %d of %d.\n", len(slower), cells)
	for _, s := range slower {
		fmt.Fprintf(w, "- %s\n", s)
	}
}

// entry is the text of one arm in a cell.
func entry(g *group, name string, of figure) string {
	base, a := g.arms[0], named(g.arms, name)
	if a == base {
		return fmt.Sprintf("%.3g", a.median(of))
	}
	r, ok := ratio(a, base, of)
	switch {
	case !ok:
		return "-"
	case r.Lo > 1:
		return fmt.Sprintf("**%.2f**", r.Median)
	}
	return fmt.Sprintf("%.2f", r.Median)
}

// binary prints a power of two of bytes.
func binary(n int) string {
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if n < 1<<10 {
			return fmt.Sprintf("%d %s", n, unit)
		}
		n >>= 10
	}
	return fmt.Sprintf("%d GiB", n)
}
