package ranking

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// Text prints the ranking as a table. Names come from outside: they are escaped.
func (r *Ranking) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s lose %s of %s to memory, and %.1f GiB: %.0f a month, at %g a core-hour and %g a GiB-hour (last %s, until %s)\n",
		unit.Plural(r.Total.Workloads, "workload"), cores(r.Total.Tax), cores(r.Total.CPU), r.Total.LostBytes/(1<<30), r.Total.Money,
		r.Prices.CoreHour, r.Prices.GiBHour, r.Window, r.Now.UTC().Format("2006-01-02 15:04 UTC"))
	for _, p := range r.Partial {
		fmt.Fprintf(&b, "partial: %s\n", console.Line(p))
	}
	b.WriteByte('\n')
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "money/month\tcores lost\tof CPU\tGiB lost\tpods\tmost to\t  workload")
	notes := map[string]int{}
	for _, row := range r.Workloads {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.0f\t%s\t  %s%s\n", figure(row.Money, 0, 1), figure(row.Tax, 2, 1), share(row.TaxShare), figure(row.LostBytes, 1, 1<<30),
			row.Pods, row.most(), strings.ReplaceAll(console.Line(row.ID.String()), "\t", " "), marks(row.Partial, notes))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Left > 0 {
		fmt.Fprintf(&b, "\n%s more: --limit 0 prints all.\n", unit.Plural(r.Left, "workload"))
	}
	if len(notes) > 0 {
		b.WriteString("\nPartial:\n")
		for _, n := range slices.SortedFunc(maps.Keys(notes), func(a, b string) int { return notes[a] - notes[b] }) {
			fmt.Fprintf(&b, "  [%d] %s\n", notes[n], console.Line(n))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// marks are the numbers of notes.
func marks(partial []string, notes map[string]int) string {
	var b strings.Builder
	for _, p := range partial {
		if notes[p] == 0 {
			notes[p] = len(notes) + 1
		}
		fmt.Fprintf(&b, " [%d]", notes[p])
	}
	return b.String()
}

func cores(v float64) string { return fmt.Sprintf("%.1f cores", v) }

func figure(v *float64, digits int, of float64) string {
	if v == nil {
		return unit.None
	}
	return fmt.Sprintf("%.*f", digits, *v/of)
}

func share(v *float64) string {
	if v == nil {
		return unit.None
	}
	return unit.Percent(*v)
}

// most is the class that takes the most.
func (row *Row) most() string {
	most, name := 0.0, unit.None
	for _, class := range slices.Sorted(maps.Keys(row.Classes)) {
		if row.Classes[class] > most {
			most, name = row.Classes[class], class
		}
	}
	return console.Line(name)
}
