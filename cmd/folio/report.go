package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/internal/html"
	"github.com/foliomem/folio/internal/report"
	"github.com/foliomem/folio/internal/saved"
)

type reportFlags struct{ out string }

const reportLong = `Make saved results into one HTML file that people look at.

The files are what run, tune, lab, inspect, doctor and advise write with --json.
Several are shown side by side, with what differs between them: two machines, two
kernels, before and after. The page answers first, then draws, then lists; all
samples are in it. It needs no network, and loads nothing.

While measuring, --html FILE of run, tune, lab, inspect, doctor and advise
makes the same page.`

func newReport(a *app) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report [flags] FILE.json...",
		Short: "Make saved results into a page to look at",
		Long:  reportLong,
		Example: `  folio report tune.json -o tune.html
  folio report before.json after.json -o both.html
  folio tune --json - -- ./prog | folio report -o tune.html -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return a.report(f, args) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVarP(&f.out, "output", "o", "", "write the page to `file` (- for standard output); required")
	return cmd
}

func (a *app) report(f *reportFlags, args []string) (err error) {
	switch {
	case len(args) == 0:
		return misusef("report: no result given: folio report FILE.json -o FILE.html")
	case f.out == "":
		return misusef("report: where does the page go? folio report %s -o FILE.html", args[0])
	}
	stdins := 0
	for _, name := range args {
		if name == "-" {
			stdins++
		}
		if sameFile(name, f.out) {
			return misusef("report: --output %s: that is one of the results, and would be replaced", f.out)
		}
	}
	if stdins > 1 {
		return misusef("report: only one of the results can be standard input")
	}
	var results []*saved.Result
	for i, name := range resultNames(args) {
		data, err := a.readResult(args[i])
		if err != nil {
			return err
		}
		full := args[i] // an error names the file as the user did
		if full == "-" {
			full = name
		}
		r, err := saved.Read(full, data)
		if err != nil {
			return err
		}
		r.Name = name
		results = append(results, r)
	}
	page, err := html.Render(html.Of(results...))
	if err != nil {
		return err
	}
	out, err := report.OpenOutput("--output", f.out, a.stdout)
	if err != nil {
		return err
	}
	return errors.Join(out.Write(page), out.Close())
}

// resultNames returns what a page calls result files: their names without the
// directories, where these differ.
func resultNames(paths []string) []string {
	count := make(map[string]int)
	for _, p := range paths {
		count[filepath.Base(p)]++
	}
	out := make([]string, len(paths))
	for i, p := range paths {
		switch out[i] = filepath.Base(p); {
		case p == "-":
			out[i] = "standard input"
		case count[out[i]] > 1:
			out[i] = filepath.Clean(p)
		}
	}
	return out
}

// readResult reads a result file; - is standard input.
func (a *app) readResult(name string) ([]byte, error) {
	if name == "-" {
		if a.stdin == nil {
			return nil, errors.New("standard input is closed")
		}
		return readAll("standard input", a.stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(name, f)
}

// mostResult is more than any result has, in bytes.
const mostResult = 1 << 30

func readAll(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostResult+1))
	if err == nil && len(data) > mostResult {
		err = fmt.Errorf("%s: not a result of folio: it is larger than %s", name, report.Bytes(mostResult))
	}
	return data, err
}
