package symbol

import (
	"fmt"
	"strconv"
	"strings"
)

// releases is the table of Go releases whose tables are known: where the words of
// runtime.moduledata that are read stand. A new release is added after the tests of
// this package have passed with it (TestToolchains).
var releases = []release{
	{from: 18, to: 19, tree: 38, sections: 39},
	{from: 20, to: 25, tree: 40, sections: 41}, // coverage counters before it
	{from: 26, to: 26, tree: 40, sections: 42}, // epclntab after it
	{from: 27, to: 27, tree: 43, sections: 45}, // typedesclen, itaboffset, itabsize before it
}

// release is a range of minor versions of Go 1 with one layout, in words.
type release struct {
	from, to       int
	tree, sections int // gofunc, textsectmap
}

// newest is the last minor version that is known.
var newest = releases[len(releases)-1].to

// releaseOf returns the layout of a version of Go. It is false for versions that are
// not known: later ones, and those between two releases.
func releaseOf(version string) (release, bool) {
	minor, ok := minorOf(version)
	if !ok || development(version) {
		return release{}, false
	}
	for _, r := range releases {
		if r.from <= minor && minor <= r.to {
			return r, true
		}
	}
	return release{}, false
}

// minorOf reads the minor version out of "go1.26.1 X:arenas", "go1.27rc1" or
// "devel go1.28-0123abcd Mon Jan ...".
func minorOf(version string) (int, bool) {
	for _, word := range strings.Fields(version) {
		rest, ok := strings.CutPrefix(word, "go1.")
		if !ok {
			continue
		}
		end := 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(rest[:end])
		return n, err == nil
	}
	return 0, false
}

// development reports whether a version is of a state between releases, such as
// "devel go1.28-0123abcd" or, since Go 1.25, "go1.28-devel_0123abcd".
func development(version string) bool { return strings.Contains(version, "devel") }

// doubt says why names that the tables of a version give may be wrong, "" if the
// version is known.
func doubt(version string) string {
	const may = ": function names and lines may be wrong"
	minor, ok := minorOf(version)
	switch {
	case !ok:
		return "the version of Go that built it is unknown" + may
	case development(version):
		return fmt.Sprintf("Go 1.%d-devel is not a release that this folio knows", minor) + may
	case minor > newest:
		return fmt.Sprintf("Go 1.%d is newer than this folio knows", minor) + may
	}
	if _, ok := releaseOf(version); !ok {
		return fmt.Sprintf("Go 1.%d is older than this folio knows", minor) + may
	}
	return ""
}
