package act

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/oom"
	"github.com/foliomem/folio/cmd/internal/process/thrash"
	"github.com/foliomem/folio/internal/test/testenv"
)

func newSentry(t *testing.T, a *Actor) *Sentry {
	s := NewSentry(a, oom.Options{
		Save:   t.TempDir(),
		JSON:   func(*inspect.Process) ([]byte, []string, error) { return []byte("{}"), nil, nil },
		Charge: func(*charge.Charge) ([]byte, error) { return []byte("{}"), nil },
	})
	s.Times = thrash.Times{Every: 5 * time.Millisecond, For: 50 * time.Millisecond}
	return s
}

// A program whose memory limit has its GC run all the time gets what its pod opted in to, and one
// whose pod did not is left alone.
func TestSentry(t *testing.T) {
	one, two := startProgram(t, 1, "GOMEMLIMIT=32MiB"), startProgram(t, 2, "GOMEMLIMIT=32MiB")
	may(t, one)
	w := keeps(t)
	w.add(one, "a")
	w.add(two, "b")
	for _, s := range []*subject{one, two} {
		w.must(t, s.container, "536870912", 100)
		s.ask("grow 48")
		s.ask("spin")
	}
	p, err := parse([]byte("thrash: {label: folio.dev/settings=a, then: raise=1MiB}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a := w.actor(p, &log)
	defer a.Keeper.Close()
	s := newSentry(t, a)
	if err := a.Node.Scan(); err != nil {
		t.Fatal(err)
	}
	s.Look(t.Context(), p.Thrash)
	of := func(n int) node.Labels {
		return node.Labels{Namespace: "shop", Pod: fmt.Sprintf("pod-%d", n), Container: "main"}
	}
	testenv.Eventually(t, "a raised limit", func() bool {
		_, limit := one.ask("")
		return limit == 33*mib && s.Dies()[of(1)] >= 1
	})
	if all, err := os.ReadDir(s.Evidence.Save); err != nil || len(all) == 0 {
		t.Errorf("%v, %v", all, err)
	}
	two.has(100, 32*mib)
	if n := s.Dies()[of(2)]; n != 0 {
		t.Errorf("%d deaths of a pod that did not opt in", n)
	}
	// Who opts out is left, and what was raised stays.
	w.labels[container(1)] = "b"
	s.Look(t.Context(), p.Thrash)
	if len(s.watched) != 0 {
		t.Errorf("%d are watched", len(s.watched))
	}
	s.Close()
	one.has(100, 33*mib)
	for _, want := range []string{"effective GOGC", "GOMEMLIMIT=32MiB -> 33MiB", "pod=pod-1"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &log)
		}
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	s := newSentry(t, &Actor{Log: slog.New(slog.DiscardHandler)})
	for i := range mostEvidence + 5 {
		dir := filepath.Join(s.Evidence.Save, fmt.Sprintf("%02d", (i*7)%(mostEvidence+5)))
		at := time.Unix(int64(1000+i), 0)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	s.forget()
	all, err := os.ReadDir(s.Evidence.Save)
	if err != nil || len(all) != mostEvidence {
		t.Fatalf("%d are left, %v", len(all), err)
	}
	for _, e := range all {
		if i, err := e.Info(); err != nil || i.ModTime().Unix() < 1005 {
			t.Errorf("%s is left, %v", e.Name(), err)
		}
	}
}
