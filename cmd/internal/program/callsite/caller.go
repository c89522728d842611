package callsite

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// Stack returns the calls of a sample, innermost first, without those that have no name.
func Stack(s *profile.Sample) (out []symbol.Frame) {
	for _, loc := range s.Location {
		for _, l := range loc.Line {
			if l.Function != nil {
				out = append(out, symbol.Frame{Func: l.Function.Name, File: l.Function.Filename, Line: int(l.Line)})
			}
		}
	}
	return out
}

// Names of what allocates that is no line: stacks that are wholly in the runtime, as those
// of its descriptors of goroutines are, and those without names.
const (
	Runtime = "runtime"
	Unknown = "unknown"
)

// Caller returns the innermost line of a stack that is not of the standard library, and the
// function of the library that it called; and how far out in the stack it is. ok is false if
// there is no such line: then the frame has a name alone, Runtime or Unknown.
func Caller(stack []symbol.Frame) (frame symbol.Frame, inside string, at int, ok bool) {
	innermost := -1
	for i, f := range stack {
		if innermost < 0 && !strings.HasPrefix(f.Func, "runtime.") {
			innermost = i
		}
		if !Standard(f.Func) {
			return f, inside, i, true
		}
		if !strings.HasPrefix(f.Func, "runtime.") {
			inside = f.Func
		}
	}
	switch {
	case len(stack) == 0:
		return symbol.Frame{Func: Unknown}, "", 0, false
	case innermost < 0:
		return symbol.Frame{Func: Runtime}, "", 0, false
	}
	return stack[innermost], stack[innermost].Func, innermost, true
}

// maxCallers bounds the callers that are named of a site.
const maxCallers = 4

// Callers returns the functions that called the one at a place in a stack, nearest first.
func Callers(stack []symbol.Frame, at int) (out []string) {
	for _, f := range stack[min(at+1, len(stack)):] {
		if len(out) < maxCallers && !strings.HasPrefix(f.Func, "runtime.") {
			out = append(out, f.Func)
		}
	}
	return out
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
