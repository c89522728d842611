package act

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/process/oom"
	"github.com/foliomem/folio/cmd/internal/process/thrash"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Thrash says for which pods GC thrashing is watched for, and what is done then, as folio set
// --watch does. The zero Thrash is for none.
type Thrash struct {
	Label, Value string
	Then         thrash.Then
}

// thrashFile is a Thrash as it is written.
type thrashFile struct {
	Label string `json:"label"`
	Then  string `json:"then"`
}

func (f *thrashFile) thrash() (t Thrash, err error) {
	if t.Label, t.Value, err = parseLabel(f.Label); err != nil {
		return t, err
	}
	if f.Then != "" {
		if t.Then, err = thrash.ParseThen(f.Then); err != nil {
			return t, fmt.Errorf("then: %w", err)
		}
	}
	return t, nil
}

// mostEvidence is how many saves are kept of all processes: the last ones.
const mostEvidence = 20

// A Sentry watches processes for GC thrashing. Look is for one goroutine.
type Sentry struct {
	Node     *node.Node
	Labels   Labeled
	FS       procmem.FS
	Log      *slog.Logger
	Evidence oom.Options // Save is the directory; its printers are not used
	Times    thrash.Times

	watched map[node.Running]context.CancelFunc // also those that could not be, until they end
	rule    Thrash
	running sync.WaitGroup

	mu   sync.Mutex
	dies map[node.Labels]uint64
}

// NewSentry makes one that looks at the processes of an actor. evidence says what is saved, and
// where.
func NewSentry(a *Actor, evidence oom.Options) *Sentry {
	return &Sentry{
		Node: a.Node, Labels: a.Labels, FS: a.FS, Log: a.Log, Evidence: evidence, Times: thrash.DefaultTimes,
		watched: make(map[node.Running]context.CancelFunc), dies: make(map[node.Labels]uint64),
	}
}

// Look begins to watch processes that are new, and leaves those whose pods opted out.
func (s *Sentry) Look(ctx context.Context, rule Thrash) {
	if !s.Labels.Synced() {
		return
	}
	if rule != s.rule {
		s.Close()
		s.rule = rule
	}
	here := make(map[node.Running]bool)
	for _, r := range s.Node.Running() {
		id := r.ID()
		if v, ok := s.Labels.Label(id.UID, id.Container, rule.Label); !ok || rule.Label == "" || v != rule.Value {
			continue
		}
		at := key(r)
		here[at] = true
		if s.watched[at] == nil {
			one, stop := context.WithCancel(ctx)
			s.watched[at] = stop
			s.running.Go(func() { s.watch(one, r) })
		}
	}
	maps.DeleteFunc(s.watched, func(at node.Running, stop context.CancelFunc) bool {
		if !here[at] {
			stop()
		}
		return !here[at]
	})
}

// watch watches one process until it ends, or until ctx.
func (s *Sentry) watch(ctx context.Context, r node.Running) {
	log := s.Log.With("namespace", r.Namespace, "pod", r.Pod, "container", r.Container, "pid", r.PID)
	p, err := livegc.Open(s.FS, r.PID)
	if err == nil {
		defer p.Close()
		if !s.Node.Same(r) {
			return
		}
		o := thrash.Options{Times: s.Times, Then: s.rule.Then, FS: s.FS, Evidence: s.Evidence, Dies: func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.dies[r.Labels]++
		}}
		o.Evidence.Stdout = console.New(lines(func(string) { s.forget() }))
		o.Evidence.Stderr = console.New(lines(func(text string) { log.Warn(text) }))
		err = thrash.Watch(ctx, []*livegc.Process{p}, o)
	}
	if err != nil && !procmem.Gone(err) && !errors.Is(err, procmem.ErrNoProcess) && !errors.Is(err, executable.ErrNotGo) {
		log.Warn("it is not watched for GC thrashing", "err", err)
	}
}

// lines hands each line that is written to a function.
type lines func(string)

func (f lines) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		f(strings.TrimSuffix(line, "\n"))
	}
	return len(text), nil
}

// forget removes the oldest saves: the directory is that of all processes.
func (s *Sentry) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := os.ReadDir(s.Evidence.Save)
	if err != nil {
		return
	}
	age := func(e os.DirEntry) int64 {
		i, err := e.Info()
		if err != nil {
			return 0
		}
		return i.ModTime().UnixNano()
	}
	slices.SortFunc(all, func(a, b os.DirEntry) int { return int(min(max(age(a)-age(b), -1), 1)) })
	for len(all) > mostEvidence {
		if err := os.RemoveAll(filepath.Join(s.Evidence.Save, all[0].Name())); err != nil {
			s.Log.Warn("an old save is not removed", "err", err)
		}
		all = all[1:]
	}
}

// Dies is how often processes of containers died by GC.
func (s *Sentry) Dies() map[node.Labels]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.dies)
}

// Close ends all watches.
func (s *Sentry) Close() {
	for _, stop := range s.watched {
		stop()
	}
	clear(s.watched)
	s.running.Wait()
}
