package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/result/kubernetes"
	"github.com/foliomem/folio/cmd/internal/view/compare"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/text"
	"github.com/foliomem/folio/internal/base/input"
)

type reportFlags struct {
	pages      pageFlags
	kubernetes string
	full       bool
	redact     bool
}

const reportLong = `Show saved results: in the terminal as the command itself showed them, as one HTML
page with charts, or as Markdown.

The files are what run, tune, ab, lab, inspect, leaks, doctor, suggest, collapse and
load write with --json, and the output of a program that was run with
GODEBUG=gctrace=1 (Go 1.9 to 1.27), which is read by its whole lines. Without --html
each is printed as its command printed it, with --full in full, and several runs of
one load together, too, as merged histograms. With --html several are shown side by side, with what differs between them: two machines, two kernels,
before and after. The page answers first, then draws, then lists; all samples are in
it. It needs no network, and loads nothing.

--kubernetes prints what a result of tune recommends as a patch of the object that
runs the container: variables, and limits and requests where it was measured in a
cgroup (--cgroup-memory, --cgroup-cpus).

While measuring, --html FILE of each of these commands makes the same page.`

func newReport(a *app) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report [flags] FILE...",
		Short: "Show saved results, in the terminal or as a page",
		Long:  reportLong,
		Example: `  folio report tune.json
  folio report tune.json --html tune.html
  folio report before.json after.json --html both.html
  GODEBUG=gctrace=1 ./prog 2>gc.log; folio report gc.log
  folio report tune.json --kubernetes deployment/checkout:server
  folio tune --json - -- ./prog | folio report --html tune.html -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return a.report(f, args) },
	}
	fs := cmd.Flags()
	f.pages.add(fs)
	kubernetesFlag(fs, &f.kubernetes)
	fullFlag(fs, &f.full)
	redactFlag(fs, &f.redact)
	return cmd
}

func (a *app) report(f *reportFlags, args []string) (err error) {
	if len(args) == 0 {
		return misusef("report: no result given: folio report FILE.json")
	}
	stdins := 0
	for _, name := range args {
		if name == "-" {
			stdins++
		}
		if err := f.pages.replaces("report", name); err != nil {
			return err
		}
	}
	if stdins > 1 {
		return misusef("report: only one of the results can be standard input")
	}
	var target kubernetes.Target
	if f.kubernetes != "" {
		switch target, err = kubernetesTarget(f.kubernetes); {
		case err != nil:
			return err
		case f.pages.given() || f.full:
			return misusef("report: --kubernetes prints a patch alone: give it without --html, --markdown and --full")
		case len(args) > 1:
			return misusef("report: --kubernetes makes a patch of one result; %d are given", len(args))
		}
	}
	var results []*result.Result
	for i, name := range resultNames(args) {
		data, err := a.readResult(args[i])
		if err != nil {
			return err
		}
		full := args[i] // an error names the file as the user did
		if full == "-" {
			full = name
		}
		r, err := result.Read(full, data)
		if lines := traceLines(data); err != nil && lines != nil {
			if f.pages.given() || f.kubernetes != "" {
				return fmt.Errorf("%s is a GC trace: there is no page and no patch of one: folio report %s shows it", full, full)
			}
			if len(args) > 1 {
				lines = append([]string{"== " + name}, lines...)
			}
			for _, l := range lines {
				if err := a.stdout.Line("%s", l); err != nil {
					return err
				}
			}
			continue
		}
		if err != nil {
			return err
		}
		r.Name = name
		if f.redact {
			if err := r.Redact(); err != nil {
				return err
			}
		}
		results = append(results, r)
	}
	switch {
	case len(results) == 0:
		return nil
	case f.kubernetes != "" && (results[0].Program() == nil || results[0].Program().Kind != result.KindTune):
		return fmt.Errorf("%s is a result of %s: a patch is made of one of tune", results[0].Name, results[0].Header().Kind)
	case f.kubernetes != "":
		return a.kubernetesPatch(a.stdout, results[0].Program(), target, results[0].Name)
	case !f.pages.given():
		return a.showResults(results, f)
	}
	return a.writePages(&f.pages, document.New(results...))
}

// traceLines says what a saved GC trace tells; nil of anything else.
func traceLines(data []byte) []string {
	var c gctrace.Counter
	_, _ = c.Write(data)
	if c.End(); c.Cycles == 0 {
		return nil
	}
	return diagnose.Trace(&c)
}

// comparable says that results have figures that a reader would hold against one another.
func comparable(results []*result.Result) bool {
	first := results[0].Header().Kind
	same := func(r *result.Result) bool {
		switch r.Of.(type) {
		case *result.AB, *result.Suggest, *result.Collapse, *result.Load, *result.Sites:
			return false
		}
		return r.Header().Kind == first
	}
	return len(results) > 1 && !slices.ContainsFunc(results, func(r *result.Result) bool { return !same(r) })
}

// showDifferences prints what differs beside the figures of results that are about to be
// shown one after the other, and that they were not interleaved.
func (a *app) showDifferences(results []*result.Result) error {
	if !comparable(results) {
		return nil
	}
	for i, r := range results[1:] {
		var c *compare.Comparison
		x, err := compare.NewSet(results[0])
		if err == nil {
			var y *compare.Set
			if y, err = compare.NewSet(r); err == nil {
				c, err = compare.Compare(x, y, nil)
			}
		}
		if i > 0 {
			if err := a.stdout.Line(""); err != nil {
				return err
			}
		}
		if err != nil {
			err = a.stdout.Line("Not compared: %v.", err)
		} else {
			err = text.Render(a.stdout, document.Differences(c), text.Options{Width: pictureWidth(a.stdout)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// showResults prints results as their commands did.
func (a *app) showResults(results []*result.Result, f *reportFlags) error {
	if err := a.showDifferences(results); err != nil {
		return err
	}
	for i, r := range results {
		if len(results) > 1 {
			if i > 0 || comparable(results) {
				_ = a.stdout.Line("") // the next line has the error
			}
			if err := a.stdout.Line("== %s", r.Name); err != nil {
				return err
			}
		}
		if err := show(a.stdout, r.Of, text.Options{Full: f.full, Rows: defaultRows}); err != nil {
			return err
		}
	}
	m, err := result.MergeLoads(results)
	switch {
	case err != nil:
		return errors.Join(a.stdout.Line(""), a.stdout.Line("Together: %v", err))
	case m != nil:
		return errors.Join(a.stdout.Line(""), text.Render(a.stdout, document.Loads(m), text.Options{Width: pictureWidth(a.stdout)}))
	}
	return nil
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

// readResult reads a result file; - is standard input. Pipes are files too, such as
// those of <(command).
func (a *app) readResult(name string) ([]byte, error) {
	if name == "-" {
		if a.stdin == nil {
			return nil, errors.New("standard input is closed")
		}
		return input.ReadAll(a.stdin, "standard input", input.MaxResult)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return input.ReadAll(f, name, input.MaxResult)
}
