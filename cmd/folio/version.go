package main

import (
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/program/goversion"
)

const versionLong = `Print the version of folio, how it was built, and the versions of Go that each part
of it supports. Include the output in bug reports. 'folio --version' prints one line.`

// A versionJSON is the document of --json.
type versionJSON struct {
	Schema   string        `json:"schema"` // folio-version/1
	Version  string        `json:"version"`
	Commit   string        `json:"commit,omitempty"`
	Time     string        `json:"commit_time,omitempty"` // RFC 3339
	Modified bool          `json:"modified,omitempty"`
	Go       string        `json:"go"` // that built folio
	Target   string        `json:"target"`
	Supports []supportJSON `json:"supports"`
	Tested   []string      `json:"tested"` // releases of Go
}

// A supportJSON is a row of the table of supported versions.
type supportJSON struct {
	Part        string `json:"part"`
	Description string `json:"description"`
	From        string `json:"from"`
	To          string `json:"to"`
}

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
			doc := versionDocument()
			if asJSON {
				return a.writeJSON(doc)
			}
			return a.printVersion(doc)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func versionDocument() versionJSON {
	doc := versionJSON{
		Schema: "folio-version/1", Version: version(), Go: runtime.Version(), Target: runtime.GOOS + "/" + runtime.GOARCH,
		Tested: slices.Clone(goversion.Releases),
	}
	for _, s := range goversion.Table {
		doc.Supports = append(doc.Supports, supportJSON{s.Part, s.Of, s.From, s.To})
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return doc
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			doc.Commit = s.Value
		case "vcs.time":
			doc.Time = s.Value
		case "vcs.modified":
			doc.Modified = s.Value == "true"
		}
	}
	return doc
}

func (a *app) printVersion(doc versionJSON) error {
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
