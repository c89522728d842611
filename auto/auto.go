package auto

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
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

// Tuner returns the tuner of the GC that was started, for its [gctune.Tuner.Stats] and
// [gctune.Tuner.SetBudget]. It is nil if there is none; the methods of a nil tuner do nothing.
func Tuner() *gctune.Tuner { return program.tuner }

// begin starts what the variable asks for. The program goes on whatever happens.
func begin(env string, w io.Writer) (r running) {
	if env == "" && inTest() {
		return running{}
	}
	// What is set is told if it cannot be done; so is everything with log=on.
	// The environment is not always the user's own.
	say := func(text string) { fmt.Fprintln(w, "folio: "+console.Line(text)) }
	s, wrong := read(env)
	for _, err := range wrong {
		say(err.Error())
	}
	level := slog.LevelWarn
	switch {
	case s.log:
		level = slog.LevelInfo
	case env == "":
		level = math.MaxInt
	}
	log := slog.New(&lines{level, say})
	failed := func(err error) { log.Warn(err.Error()) }
	var err error
	// The heap first: a reserve goes by the limit that the user has set, not by
	// the tuner's, and the tuner should not see it being made.
	if s.heap {
		s.options.Log = log
		if r.heap, err = goheap.Start(&s.options); err != nil {
			failed(err)
		}
	}
	if s.gc {
		o := &gctune.Options{MemoryPerCPU: s.memoryPerCPU, SecondP: s.secondP, Log: log}
		if r.tuner, err = gctune.Start(o); err != nil {
			failed(err)
		}
	}
	return r
}

// lines says the messages from a level on: they name the package that they are from.
type lines struct {
	level slog.Level
	say   func(string)
}

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *lines) WithGroup(string) slog.Handler                    { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.say(r.Message)
	return nil
}
