package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/terminal"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/compare"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/text"
	"github.com/foliomem/folio/internal/base/unit"
)

type compareFlags struct {
	full   bool
	pages  pageFlags
	redact bool
}

const compareLong = `Compare two results: what differs between them, and by how much.

The files are results of folio (--json) or in the Go benchmark format (go test
-bench, --bench). Figures are medians with 95% intervals; a difference is printed
if the Mann-Whitney test finds one at 0.05, else "~". What else differs is listed:
command, arguments, input, setting, build, machine, time.
The two results were not measured in alternation, so a difference may come from
the machine, and compare calls none better or worse. To learn which is better,
use 'folio ab'.

If each file has one setting, these two are compared; otherwise, settings with
the same name. Results of different kinds or metrics are refused. inspect and
run --attach measure once, so their differences are not tested. For doctor,
compare lists the findings that appeared or disappeared.

--html makes one page of both, with charts: that of folio report OLD NEW --html,
or for benchmarks a bar with an interval for each.

Exit codes: 0 compared, whatever differs; 1 a file cannot be read, or the two do
not compare; 2 wrong usage.`

func newCompare(a *app) *cobra.Command {
	f := &compareFlags{}
	cmd := &cobra.Command{
		Use:   "compare [flags] OLD NEW",
		Short: "Compare two results",
		Long:  compareLong,
		Example: `  folio compare before.json after.json
  folio compare old.txt new.txt
  folio compare before.json after.json --html both.html
  folio run --count 10 --json - -- ./prog | folio compare before.json -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return a.compare(f, args) },
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.full, "full", false, "show every figure, not only times, peak RSS, page faults, the GC and the program's own")
	f.pages.add(fs)
	redactFlag(fs, &f.redact)
	return cmd
}

func (a *app) compare(f *compareFlags, args []string) error {
	if len(args) != 2 {
		return misusef("compare: %s given: it compares two: folio compare OLD NEW", unit.Plural(len(args), "file"))
	}
	if args[0] == "-" && args[1] == "-" {
		return misusef("compare: only one of the two can be standard input")
	}
	if err := errors.Join(f.pages.replaces("compare", args[0]), f.pages.replaces("compare", args[1])); err != nil {
		return err
	}
	names, opts := result.Names(args), &compare.Options{All: f.full}
	var sets [2]*compare.Set
	var results []*result.Result
	for i, name := range args {
		data, err := a.readResult(name)
		if err != nil {
			return err
		}
		if name != "-" {
			name = filepath.Clean(name)
		}
		if f.redact || f.pages.given() {
			name = names[i] // as in a page of folio report
		}
		var r *result.Result
		if sets[i], r, err = compare.ReadSide(name, data, f.redact); err != nil {
			return err
		}
		if r != nil {
			results = append(results, r)
		}
	}
	c, err := compare.Compare(sets[0], sets[1], opts)
	if err != nil {
		return err
	}
	if !f.pages.given() {
		return text.Render(a.stdout, document.NewComparison(c), text.Options{Width: terminal.Columns(a.stdout), Full: f.full})
	}
	if len(results) == len(sets) {
		return a.writePages(&f.pages, document.NewOf(opts, results...))
	}
	return a.writePages(&f.pages, document.NewComparison(c, results...))
}
