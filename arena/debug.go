package arena

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/foliomem/folio/internal/base/config"
)

// debugging is the debug mode. It is chosen once, at the start.
var debugging = debugBuild || debugFromEnv(os.Getenv("FOLIO"), func(err error) { fmt.Fprintln(os.Stderr, err) })

// debugFromEnv reads the variable FOLIO. Settings of Folio's other packages are
// not looked at.
func debugFromEnv(env string, complain func(error)) (on bool) {
	for _, s := range config.Parse(env) {
		if s.Key != "arenadebug" {
			continue
		}
		if b, err := s.Bool(); err != nil {
			complain(fmt.Errorf("arena: %w", err))
		} else {
			on = b
		}
	}
	return on
}

// record is what debug mode knows of an arena.
type record struct {
	name  string
	made  []uintptr
	freed []uintptr // by the last Free, Reset or Put
	how   string    // which of them
	over  *atomic.Bool
}

// end notes where what was allocated from the arena ended.
func (r *record) end(how string) { r.how, r.freed, r.over = how, callers(), new(atomic.Bool) }

// ended says that what end noted has returned. On a busy machine the goroutine can wait for a CPU
// until then, with slabs on its stack, while GC cycles pass.
func (r *record) ended() { r.over.Store(true) }

// callers returns the stack of the function of this package that was called.
func callers() []uintptr {
	pcs := make([]uintptr, 32)
	return pcs[:runtime.Callers(4, pcs)]
}

// history says where the arena was made and freed, for a panic.
func (r *record) history() string {
	s := ""
	if r.name != "" {
		s += fmt.Sprintf("\narena %q", r.name)
	}
	s += "\nthe arena was made by\n" + stack(r.made)
	if r.freed != nil {
		s += "and " + r.how + " was called by\n" + stack(r.freed)
	}
	return strings.TrimRight(s, "\n")
}

func stack(pcs []uintptr) string {
	var b strings.Builder
	for frames := runtime.CallersFrames(pcs); ; {
		f, more := frames.Next()
		if f.Function != "" {
			fmt.Fprintf(&b, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}

// ended is what a handle has instead of its stock once its arena is over, in
// debug mode and in a Pool: it says whose fault it is.
type ended struct{ base }

// pooledAway is that of arenas that were put into a Pool.
var pooledAway = newEnded(&away)

func newEnded(m *more) *base {
	e := &ended{base{more: m}}
	e.self = e
	return &e.base
}

func (e *ended) fill(*core) { e.more.misuse("allocation") }

// The rest is never called: an arena that is over has no stocks.

func (e *ended) open(*Arena) *core                        { return nil }
func (e *ended) release(*core, *more)                     {}
func (e *ended) reset(*core, *more, int64) (int64, int64) { return 0, 0 }
func (e *ended) start(*core)                              {}
func (e *ended) detach(*core)                             {}
func (e *ended) count(*core, *counter)                    {}
func (e *ended) typ() reflect.Type                        { return nil }
