package auto

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/foliomem/folio/gctune"
	"github.com/foliomem/folio/goheap"
	"github.com/foliomem/folio/internal/base/console"
)

// program is what was started.
var program = begin(os.Getenv("FOLIO"), os.Stderr)

// ofTest is how the path of the main package of a test binary ends, as the go command makes
// it. Flags of package testing are not registered yet when variables are initialized, and a
// test binary may have any name (go test -c -o).
const ofTest = ".test"

// inTest reports whether this is a test binary.
func inTest() bool {
	build, ok := debug.ReadBuildInfo()
	return ok && strings.HasSuffix(build.Path, ofTest)
}

type running struct {
	heap  *goheap.Advisor
	tuner *gctune.Tuner
}

// Heap returns the advisor that was started, for its [goheap.Advisor.Stats]. It is nil if there
// is none; the methods of a nil advisor do nothing.
func Heap() *goheap.Advisor { return program.heap }

// Tuner returns the tuner of the GC that was started, for its [gctune.Tuner.Stats]. It is nil
// if there is none; the methods of a nil tuner do nothing.
func Tuner() *gctune.Tuner { return program.tuner }

// begin starts what the variable asks for. The program goes on whatever happens.
func begin(env string, w io.Writer) (r running) {
	if env == "" && inTest() {
		return running{}
	}
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
