package auto

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/foliomem/folio/gctune"
	"github.com/foliomem/folio/goheap"
	"github.com/foliomem/folio/internal/base/console"
)

// program is what was started.
var program = begin(os.Getenv("FOLIO"), os.Stderr)

type running struct {
	heap  *goheap.Advisor
	tuner *gctune.Tuner
}

// Heap returns the advisor that was started, nil if there is none: for its
// [goheap.Advisor.Stats].
func Heap() *goheap.Advisor { return program.heap }

// Tuner returns the tuner of the GC that was started, nil if there is none:
// for its [gctune.Tuner.Stats].
func Tuner() *gctune.Tuner { return program.tuner }

// begin starts what the variable asks for. The program goes on whatever happens.
func begin(env string, w io.Writer) (r running) {
	// What is set is told if it cannot be done; so is everything with log=1.
	// The environment is not always the user's own.
	say := func(text string) { fmt.Fprintln(w, "folio: "+console.Line(text)) }
	s, wrong := read(env)
	for _, err := range wrong {
		say(err.Error())
	}
	failed := func(err error) {
		if env != "" {
			say(err.Error())
		}
	}
	var err error
	// The heap first: a reserve goes by the limit that the user has set, not by
	// the tuner's, and the tuner should not see it being made.
	if s.heap {
		if s.log {
			s.options.Log = func(text string) { say("heap: " + text) }
		}
		s.options.Warn = func(text string) { failed(errors.New("goheap: " + text)) }
		if r.heap, err = goheap.Start(&s.options); err != nil {
			failed(err)
		}
	}
	if s.gc {
		o := &gctune.Options{MemoryPerCPU: s.memoryPerCPU, SecondP: s.secondP}
		if s.log {
			o.Logf = func(format string, args ...any) { say(fmt.Sprintf(format, args...)) } // its lines begin with its name
		}
		if r.tuner, err = gctune.Start(o); err != nil {
			failed(err)
		}
	}
	return r
}
