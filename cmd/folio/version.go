package main

import (
	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/program/goversion"
)

const versionLong = `Print the version of folio, how it was built, and the versions of Go that each part
of it supports. Include the output in bug reports. 'folio --version' prints one line.`

func newVersion(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print folio's version, its build, and the supported versions of Go",
		Long:  versionLong,
		Example: `  folio version
  folio version --json`,
		Args: usage.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			doc := goversion.NewReport(version())
			if asJSON {
				return a.writeJSON(doc)
			}
			return a.printVersion(doc)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON to standard output")
	return cmd
}

func (a *app) printVersion(doc *goversion.Report) error {
	_ = a.stdout.Line("folio %s", doc.Version)
	_ = a.stdout.Line("built with %s for %s", doc.Go, doc.Target)
	if doc.Commit != "" {
		state := ""
		if doc.Modified {
			state = ", with changes that are not committed"
		}
		_ = a.stdout.Line("commit %s of %s%s", doc.Commit, doc.Time, state)
	}
	_ = a.stdout.Line("")
	_ = a.stdout.Line("Supported versions of Go:")
	for _, s := range goversion.Table {
		_ = a.stdout.Line("  %-18s %s", s, s.Of)
	}
	_ = a.stdout.Line("")
	return a.stdout.Line("Tested with releases %s to %s.", doc.Tested[0], goversion.Newest())
}
