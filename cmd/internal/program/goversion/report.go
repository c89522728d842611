package goversion

import (
	"runtime"
	"runtime/debug"
	"slices"
)

// A Report is what folio version says of this program, as JSON has it.
type Report struct {
	Schema   string      `json:"schema"` // folio-version/1
	Version  string      `json:"version"`
	Commit   string      `json:"commit,omitempty"`
	Time     string      `json:"commit_time,omitempty"` // RFC 3339
	Modified bool        `json:"modified,omitempty"`
	Go       string      `json:"go"` // that built folio
	Target   string      `json:"target"`
	Supports []Supported `json:"supports"`
	Tested   []string    `json:"tested"` // releases of Go
}

// Supported is a row of the table of supported versions.
type Supported struct {
	Part        string `json:"part"`
	Description string `json:"description"`
	From        string `json:"from"`
	To          string `json:"to"`
}

// Version is what the module system says that this program is, with the commit where it knows
// no version.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devel
	}
	return versionOf(info)
}

const devel = "(devel)"

func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != devel {
		return v
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = " " + s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if commit == "" {
		return devel
	}
	return devel + commit + dirty
}

// NewReport returns the report of a version of folio.
func NewReport(version string) *Report {
	doc := &Report{
		Schema: "folio-version/1", Version: version, Go: runtime.Version(), Target: runtime.GOOS + "/" + runtime.GOARCH,
		Tested: slices.Clone(Releases),
	}
	for _, s := range Table {
		doc.Supports = append(doc.Supports, Supported{s.Part, s.Of, s.From, s.To})
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
