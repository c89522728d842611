package suggest

import (
	"regexp"
	"strings"
)

var (
	literal = regexp.MustCompile(`&((?:\w+\.)?[A-Z_a-z]\w*(?:\[[^\]]*\])?)\{`)
	newCall = regexp.MustCompile(`\bnew\(([^()]+)\)`)
	slice   = regexp.MustCompile(`\bmake\(\[\]([^,()]+),\s*(.+?)\)`)
	appends = regexp.MustCompile(`\bappend\(`)
	maps    = regexp.MustCompile(`\bmake\(map\[|\bmap\[[^\]]+\][^({]*\{`)
	channel = regexp.MustCompile(`\bmake\(chan\b`)
	texts   = regexp.MustCompile(`\bstring\(|"\s*\+|\+\s*"|\+=`)
)

// AnySketch is what to write where the line is not known.
const AnySketch = "take what this line makes from an arena: arena.New, arena.MakeSlice, arena.Append or arena.String"

// sketch says what to write instead of a line that allocates, or why an arena does
// not help it.
func sketch(line string) (sketch, not string) {
	line = strings.TrimSpace(line)
	switch {
	case maps.MatchString(line):
		return "", "it makes a map, which cannot be in an arena"
	case channel.MatchString(line):
		return "", "it makes a channel, which cannot be in an arena"
	case literal.MatchString(line):
		t := literal.FindStringSubmatch(line)[1]
		return "h := arena.Of[" + t + "](a) once; here: n := h.New(); *n = " + t + "{...}", ""
	case newCall.MatchString(line):
		t := strings.TrimSpace(newCall.FindStringSubmatch(line)[1])
		return "h := arena.Of[" + t + "](a) once; here: h.New()", ""
	case slice.MatchString(line):
		m := slice.FindStringSubmatch(line)
		size := m[2]
		if !strings.Contains(size, ",") {
			size += ", " + size
		}
		return "arena.MakeSlice[" + m[1] + "](a, " + size + ")", ""
	case appends.MatchString(line):
		return "arena.Append(a, ...) in place of append(...)", ""
	case texts.MatchString(line):
		return "arena.String(a, ...) of a buffer that is reused", ""
	}
	return AnySketch, ""
}
