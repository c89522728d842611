package main

import (
	"fmt"
	"io"
	"runtime"
	"strconv"

	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
)

// poolArms are the ways of the program pool; the first is what the others are
// compared with.
var poolArms = []struct{ name, with string }{
	{"sync.Pool of objects", "sync.Pool"},
	{"new", "new"},
	{"sync.Pool of slices, by hand", "slices"},
	{"arena.Pool", "folio"},
}

// perSecond is the requests per second of a run of pool.
func perSecond(s sample) float64 {
	n, ns, _ := done(s.out) // was checked
	return 1e9 * n / ns
}

func runPool(c config, b *builder, w io.Writer) error {
	progress("building the programs")
	path, err := b.golang("pool")
	if err != nil {
		return err
	}
	type row struct {
		objects, goroutines int
		arms                []*arm
	}
	var rows []*row
	for _, objects := range []int{8, 64, 1024} {
		for g := 1; g <= 4*runtime.NumCPU(); g *= 2 {
			r := &row{objects: objects, goroutines: g}
			for _, p := range poolArms {
				r.arms = append(r.arms, &arm{name: p.name,
					command: []string{path, "-with", p.with, "-goroutines", strconv.Itoa(g), "-objects", strconv.Itoa(objects)}})
			}
			rows = append(rows, r)
		}
	}
	for i := range c.rounds {
		progress("round %d of %d", i+1, c.rounds)
		if err := touchMemory(); err != nil {
			return err
		}
		err := quiet.Rounds(1, len(rows), func(_, j int) error { return round(rows[j].arms, true, checkDone) })
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "Thousands of requests per second, %d rounds; %s. In brackets: of the first column's, round by round.\n\n", c.rounds, machine())
	head := []string{"objects of 48 B a request", "goroutines"}
	for _, p := range poolArms {
		head = append(head, p.name)
	}
	t := table.New(w, head...)
	for _, r := range rows {
		first := stat.Summarize(r.arms[0].values(perSecond))
		row := []string{fmt.Sprint(r.objects), fmt.Sprint(r.goroutines), fmt.Sprintf("%.0f [%.0f, %.0f]", first.Median/1e3, first.Lo/1e3, first.Hi/1e3)}
		for _, a := range r.arms[1:] {
			row = append(row, fmt.Sprintf("%.0f (%s)", a.median(perSecond)/1e3, times(ratio(a, r.arms[0], perSecond))))
		}
		t.Row(row...)
	}
	return nil
}
