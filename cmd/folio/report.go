package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/terminal"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/result/kubernetes"
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
GODEBUG=gctrace=1 (Go 1.9 to 1.27), of which incomplete lines are skipped. Without
--html each is printed as its command printed it; for several runs of one load,
their merged histograms are printed, too. With --html several are shown side by
side. The page has all samples, and needs no network.

--kubernetes prints what a result of tune recommends as a patch of the object that
runs the container: variables, and limits and requests where it was measured in a
cgroup (--cgroup-memory, --cgroup-cpus).

While measuring, --html FILE of each of these commands makes the same page.

Exit codes: 0 shown; 1 a file cannot be read; 2 wrong usage.`

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
	for i, name := range result.Names(args) {
		data, err := a.readResult(args[i])
		if err != nil {
			return err
		}
		full := args[i] // an error names the file as the user did
		if full == "-" {
			full = name
		}
		r, err := result.Read(full, data)
		if lines := diagnose.SavedTrace(data); err != nil && lines != nil {
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
		return text.Render(a.stdout, document.InTurn(results), text.Options{Width: terminal.Columns(a.stdout), Full: f.full, Rows: defaultRows})
	}
	return a.writePages(&f.pages, document.New(results...))
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
