// Package goversion is the table of Go versions that Folio supports. What "folio
// version" and the documents say of them, and which toolchains tests use, comes from
// here.
package goversion

import (
	"go/version"
	"strings"
)

// Support says for which versions of Go a part of Folio is written and tested.
type Support struct {
	Part     string // key, for JSON and for code
	Of       string // for people
	From, To string // language versions such as "go1.26", or a release such as "go1.21.6"
}

// Parts of Folio that depend on the version of Go.
const (
	Module    = "module"
	Patches   = "patches"
	Exec      = "exec"
	Profiles  = "profiles"
	State     = "state"
	Waterfall = "waterfall"
	Sites     = "sites"
	Settings  = "settings"
)

// Table lists what is supported. docs/new-go-version.md says what a new row or a later
// version needs.
var Table = []Support{
	{Module, "building folio; importing arena, auto, goheap, gctune, page", "go1.26", "go1.27"},
	{Patches, "patches of the runtime: folio build, folio tune --build", "go1.25", "go1.27"},
	{Exec, "huge pages for a built program: folio exec, folio patch", "go1.21.6", "go1.27"},
	{Profiles, "function names and cost classes: folio run, folio tune", "go1.18", "go1.27"},
	{State, "GC settings and heap of a running program: folio doctor", "go1.19", "go1.27"},
	{Waterfall, "heap, stacks and metadata of a running program, from RSS on: folio inspect", "go1.21", "go1.27"},
	{Sites, "what keeps memory in a running program: folio inspect --heap, --goroutines, folio leaks", "go1.21", "go1.27"},
	{Settings, "GOGC and GOMEMLIMIT of a running program: folio set", "go1.21", "go1.27"},
}

// Releases are the toolchains that tests use: the release of each minor version
// that Folio was tested with, oldest first.
var Releases = []string{
	"go1.18.10", "go1.19.13", "go1.20.14", "go1.21.13", "go1.22.12", "go1.23.12", "go1.24.13", "go1.25.5", "go1.26.8", "go1.27.4",
}

// Newest returns the newest release that Folio was tested with.
func Newest() string { return Releases[len(Releases)-1] }

// SupportOf returns the row of a part; it panics if there is none.
func SupportOf(part string) Support {
	for _, s := range Table {
		if s.Part == part {
			return s
		}
	}
	panic("goversion: no part " + part)
}

// Releases returns the tested releases of the row's versions.
func (s Support) Releases() []string {
	var out []string
	for _, r := range Releases {
		if version.Compare(r, s.From) >= 0 && version.Compare(version.Lang(r), s.To) <= 0 {
			out = append(out, r)
		}
	}
	return out
}

// String returns the versions of a row for people: "Go 1.25 to 1.27".
func (s Support) String() string {
	return "Go " + strings.TrimPrefix(s.From, "go") + " to " + strings.TrimPrefix(s.To, "go")
}

// Later reports whether a release that exists is not covered by the tests: a later
// minor version than the newest of the table, or a later release of that version. Release
// candidates do not count.
func Later(release string) bool {
	return version.IsValid(release) && !strings.ContainsAny(strings.TrimPrefix(release, "go"),
		"abcdefghijklmnopqrstuvwxyz-") && version.Compare(release, Newest()) > 0
}
