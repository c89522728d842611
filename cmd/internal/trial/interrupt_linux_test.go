package trial

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/internal/test/testenv"
)

// soon is when folio hears of a signal that its programs have heard of.
const soon = 20 * time.Millisecond

// Ctrl-C, which the program hears of as well, is not held against it; a signal of its own is.
func TestInterruptIsNoFailure(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	for _, script := range []string{"kill -INT $$", "kill -TERM $$", "exit 130"} {
		ctx, cancel := context.WithCancel(t.Context())
		p := shell("echo going; " + script)
		p.Stdout = onOutput("going", func() { time.AfterFunc(soon, cancel) })
		if s, err := p.Run(ctx, Setting{}); s != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %+v, %v", script, s, err)
		}
		cancel()
		if s := run(t, shell(script), Setting{}); s.OK() || s.Interrupted {
			t.Errorf("%s: a program that ended of its own: %+v", script, s)
		}
	}
}

// A signal ends the trial of a server wherever it is, whoever hears of it first: the server,
// its load, or folio.
func TestServerIsInterrupted(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	dies := func(p *subject) { p.Server.Load = strings.Replace(p.Server.Load, "/ ", "/die ", 1) + "; sleep 1000" }
	for _, c := range []struct {
		name    string
		options []string
		change  func(p *subject)
		when    string
	}{
		{"never answers", []string{"deaf", "child"}, nil, "before the server answered at tcp:"},
		{"never answers, nor minds TERM", []string{"deaf", "linger"}, func(p *subject) { p.Server.StopTimeout = soon }, "before the server answered at tcp:"},
		{"dies before it answers", []string{"die=4"}, nil, "before the server answered at tcp:"},
		{"under load", nil, func(p *subject) { p.Server.Load = "sleep 1000" }, "under load"},
		{"dies under load", nil, dies, "under load"},
		{"the load dies", nil, func(p *subject) { p.Server.Load = "kill -INT $$" }, "under load"},
		{"the load fails", nil, func(p *subject) { p.Server.Load = "exit 1" }, "under load"},
		{"dies under folio's load", nil, func(p *subject) {
			p.Server.Generator = &load.Options{URLs: []string{"http://" + p.Server.Ready.addr + "/die"}, Rate: 100, Duration: time.Hour}
		}, "under load"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fresh := func() *subject {
				p := server(t, 1, c.options...)
				if c.change != nil {
					c.change(p)
				}
				return p
			}
			// One of these is the first that every server says.
			told := func(p *subject, f func()) {
				p.Stdout, p.Stderr = onOutput("prepared", func() { time.AfterFunc(soon, f) }), onOutput("cannot", func() { time.AfterFunc(soon, f) })
			}
			p, signals := fresh(), make(chan os.Signal, 1)
			p.Signals = signals
			told(p, func() { signals <- unix.SIGINT })
			s := run(t, p, Setting{})
			if !s.Interrupted || s.FailureKind != FailedInterrupted || !strings.HasPrefix(s.Failure, "interrupted "+c.when) {
				t.Errorf("a signal: failure %q (%s), interrupted %v", s.Failure, s.FailureKind, s.Interrupted)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p = fresh()
			told(p, cancel)
			if s, err := p.Run(ctx, Setting{}); s != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("a context: %+v, %v", s, err)
			}
			checkNoneLeft(t)
		})
	}
}
