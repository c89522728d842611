package callsite

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// Goroutines are those of a process, by where they were created and what they do.
type Goroutines struct {
	Total  int
	System int // of these, the runtime's own, which are in no group, unless they run code of the program
	Unread int // could not be read
	// Leaked is how many wait for what nothing can reach, as of the last time that the
	// program looked; nil if it cannot.
	Leaked *int
	Groups []GoroutineGroup // the most first
	Left   int              // goroutines of groups that were left out
}

// A GoroutineGroup is goroutines of one creation site in one state, with one stack.
type GoroutineGroup struct {
	Count   int
	In      string // the file of their runtime; "" where the process has one
	State   string // as stack traces have it: running, select, chan receive
	Leaked  bool
	Start   string       // the function that it began with
	Created symbol.Frame // the go statement; empty for those that the runtime starts
	// Longest is about how long the first of them has waited: since the end of the GC cycle
	// before the one that first saw it wait. It is 0 until two cycles have.
	Longest time.Duration
	Stack   []symbol.Frame // innermost first
	Whole   bool           // the stack ends where the goroutine began
	Example uint64         // the id of one, the least
}

// maxGroups bounds the groups that are kept, for a program whose stacks are all different.
const maxGroups = 1 << 14

// ReadGoroutines reads the goroutines of a process. Where it ends meanwhile, the error
// ([goruntime.ErrGone]) comes with those that were read, and Unread is all the rest.
func ReadGoroutines(ctx context.Context, t *goruntime.Target) (*Goroutines, error) {
	out := &Goroutines{}
	if t.FindsLeaks() {
		out.Leaked = new(int)
	}
	type group struct {
		GoroutineGroup
		pcs            []uint64
		created, start uint64
		since          uint64
	}
	groups := make(map[string]*group)
	names := Of(t)
	system, calls := make(map[uint64]bool), make(map[uint64]bool)
	now := monotonic()
	var key []byte
	unread, err := t.EachGoroutine(ctx, true, func(g *goruntime.Goroutine) {
		out.Total++
		own, known := system[g.Start]
		if !known {
			start := t.Frames(g.Start, false)
			own = IsSystem(start)
			system[g.Start], calls[g.Start] = own, Calls(start) != ""
		}
		if own && !(calls[g.Start] && inProgram(t, g.Stack)) {
			out.System++
			return
		}
		if g.Status == goruntime.Leaked && out.Leaked != nil {
			*out.Leaked++
		}
		key = key[:0]
		for _, n := range [...]uint64{g.Start, g.Created, uint64(g.Status)} {
			key = binary.LittleEndian.AppendUint64(key, n)
		}
		for _, n := range g.Stack {
			key = binary.LittleEndian.AppendUint64(key, n)
		}
		key = append(key, g.Reason...)
		of := groups[string(key)]
		if of == nil {
			if len(groups) == maxGroups {
				out.Left++
				return
			}
			of = &group{pcs: slices.Clone(g.Stack), created: g.Created, start: g.Start, GoroutineGroup: GoroutineGroup{
				State: cmp.Or(g.Reason, g.Status.String()), Leaked: g.Status == goruntime.Leaked, Whole: g.Whole, Example: g.ID,
			}}
			groups[string(key)] = of
		}
		of.Count++
		of.Example = min(of.Example, g.ID)
		if g.Since != 0 && (of.since == 0 || g.Since < of.since) {
			of.since = g.Since
		}
	})
	if err != nil {
		err = fmt.Errorf("read goroutines: %w", err)
		if out.Total == 0 || !errors.Is(err, goruntime.ErrGone) {
			return nil, err
		}
	}
	out.Unread = unread
	for _, g := range groups {
		if f := t.Frames(g.start, false); len(f) > 0 {
			g.Start = f[len(f)-1].Func
		}
		if f := names(g.created); g.created != 0 && len(f) > 0 && !strings.HasPrefix(f[0].Func, "runtime.") {
			g.Created = f[0]
		}
		if g.since != 0 && now > g.since {
			g.Longest = time.Duration(now - g.since)
		}
		for i, pc := range g.pcs {
			f := t.Frames(pc, i > 0)
			if len(f) > 0 && f[len(f)-1].Func == "runtime.goexit" {
				break
			}
			for _, f := range f {
				if len(g.Stack) == 0 || !IsWrapper(f.Func) {
					g.Stack = append(g.Stack, f)
				}
			}
		}
		out.Groups = append(out.Groups, g.GoroutineGroup)
	}
	out.sort()
	return out, err
}

// sort puts the most first.
func (g *Goroutines) sort() {
	slices.SortFunc(g.Groups, func(a, b GoroutineGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Created.Func, b.Created.Func), cmp.Compare(a.Created.Line, b.Created.Line),
			strings.Compare(a.State, b.State), strings.Compare(a.In, b.In), cmp.Compare(a.Example, b.Example))
	})
}

// IsSystem tells the runtime's own goroutines by the function that they begin with, as the
// runtime does.
func IsSystem(start []symbol.Frame) bool {
	if len(start) == 0 {
		return false
	}
	name := start[len(start)-1].Func
	switch name {
	case "runtime.main", "runtime.corostart", "runtime.handleAsyncEvent":
		return false
	}
	return strings.HasPrefix(name, "runtime.")
}

// Calls returns what the goroutine of the runtime that begins with a function calls of the
// program: "finalizer" or "cleanup"; "" for nothing. While it does it waits for what the
// program waits for, and nothing else is finalized or cleaned up by it.
func Calls(start []symbol.Frame) string {
	if len(start) == 0 {
		return ""
	}
	switch start[len(start)-1].Func {
	case "runtime.runfinq", "runtime.runFinalizers": // of Go 1.24 it runs cleanups, too
		return "finalizer"
	case "runtime.runCleanups":
		return "cleanup"
	}
	return ""
}

// inProgram reports whether a stack has functions that are not of the runtime.
func inProgram(t *goruntime.Target, stack []uint64) bool {
	for i, pc := range stack {
		if slices.ContainsFunc(t.Frames(pc, i > 0), ofProgram) {
			return true
		}
	}
	return false
}

func ofProgram(f symbol.Frame) bool {
	return !strings.HasPrefix(f.Func, "runtime.") && !strings.HasPrefix(f.Func, "internal/")
}

// wrapper matches the functions that the compiler writes around those of go and defer
// statements, which stack traces leave out.
var wrapper = regexp.MustCompile(`(\.gowrap|\.deferwrap|·dwrap·)\d+$`)

// IsWrapper reports whether a function was written by the compiler around a go or defer
// statement.
func IsWrapper(name string) bool { return wrapper.MatchString(name) }

// Waits returns the stack from the first function on that is not of the runtime: where the
// program waits.
func (g *GoroutineGroup) Waits() []symbol.Frame {
	i := slices.IndexFunc(g.Stack, ofProgram)
	return g.Stack[max(i, 0):]
}
