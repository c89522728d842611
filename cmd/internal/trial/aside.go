package trial

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
)

// TraceAside says where the trace of a Go process went that had redirected its standard error:
// folio asked for it, and did not see it.
type TraceAside struct {
	To    string // a path, or such as "a pipe"
	Lines *int   // how many; nil: unknown
	Least bool   // at least so many
}

func (a *TraceAside) String() string {
	switch {
	case a.Lines == nil:
		return a.To + " (number of lines unknown)"
	case a.Least:
		return fmt.Sprintf("%s (at least %s)", a.To, unit.Plural(*a.Lines, "line"))
	}
	return fmt.Sprintf("%s (%s)", a.To, unit.Plural(*a.Lines, "line"))
}

// mostAside bounds how many places are named.
const mostAside = 3

// AsideText says where the trace went that folio did not see, and how to be without it; "" where
// all of it came.
func (s *Sample) AsideText() string {
	if len(s.Aside) == 0 {
		return ""
	}
	var to []string
	for _, a := range s.Aside[:min(len(s.Aside), mostAside)] {
		to = append(to, a.String())
	}
	if more := len(s.Aside) - len(to); more > 0 {
		to = append(to, unit.Plural(more, "other place"))
	}
	return "standard error was redirected, and the GC trace that folio asks for went there: " + strings.Join(to, ", ") +
		"; --no-gctrace leaves it out"
}
