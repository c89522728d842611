package callsite

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Caller returns the innermost line of a stack that is not of the standard library,
// and the function of the library that it called.
func Caller(s *profile.Sample) (frame profile.Line, inside string, ok bool) {
	var innermost *profile.Line
	for _, loc := range s.Location {
		for _, l := range loc.Line {
			if l.Function == nil {
				continue
			}
			name := l.Function.Name
			if innermost == nil && !strings.HasPrefix(name, "runtime.") {
				innermost = &l
			}
			if !Standard(name) {
				return l, inside, true
			}
			if !strings.HasPrefix(name, "runtime.") {
				inside = name
			}
		}
	}
	if innermost == nil {
		return profile.Line{}, "", false
	}
	return *innermost, innermost.Function.Name, true
}

// Standard reports whether a function is of the standard library, by its name:
// the first element of the import paths of others has a dot, or is main. A module of
// another name counts as the program's too.
func Standard(name string) bool {
	path, _, _ := strings.Cut(name, "[") // what is behind are type parameters
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		path = path[:i]
	} else {
		path, _, _ = strings.Cut(path, ".")
	}
	first, _, _ := strings.Cut(path, "/")
	return slices.Contains(library, first)
}

// library are the first elements of the standard library's import paths.
var library = []string{
	"archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database", "debug", "embed", "encoding",
	"errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index", "internal", "io", "iter", "log", "maps", "math",
	"mime", "net", "os", "path", "plugin", "reflect", "regexp", "runtime", "slices", "sort", "strconv", "strings", "structs",
	"sync", "syscall", "testing", "text", "time", "type", "unicode", "unique", "unsafe", "vendor", "weak",
}
