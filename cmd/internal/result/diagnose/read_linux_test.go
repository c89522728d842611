package diagnose

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
)

// This process has all facts about itself.
func TestReadThisMachine(t *testing.T) {
	f, err := ReadFacts(context.Background(), procmem.FS{}, &ReadOptions{PID: os.Getpid(), Watch: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	p := f.Process
	if v, err := p.GoVersion.get(); v == "" || err != nil {
		t.Errorf("this test is of Go %q, %v", v, err)
	}
	for _, err := range []error{p.Status.Err, p.Rollup.Err, p.Advice.Err, p.Environ.Err, p.Children.Err, p.MaxMaps.Err,
		f.Release.Err, f.Meminfo.Err} {
		if err != nil {
			t.Error(err)
		}
	}
	if p.Advice.Value.Mappings == 0 || *p.Rollup.Value.Anonymous == 0 || p.Comm == "" || len(p.Command) == 0 {
		t.Errorf("%d mappings, command %q", p.Advice.Value.Mappings, p.Command)
	}
	if f.Watched < 10*time.Millisecond {
		t.Errorf("watched for %v", f.Watched)
	}
	if d := f.Diagnose(); len(d.Outcomes) != len(Rules()) {
		t.Errorf("%d outcomes of %d rules", len(d.Outcomes), len(Rules()))
	}
}

// Finalizers that queue behind one that blocks are a finding.
func TestFinalizersWait(t *testing.T) {
	block := make(chan bool)
	for range 2 * fewestPending {
		runtime.SetFinalizer(new([32]byte), func(*[32]byte) { <-block })
	}
	defer close(block)
	runtime.GC()
	f, err := ReadFacts(t.Context(), procmem.FS{}, &ReadOptions{PID: os.Getpid(), Watch: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	found, err := lookFinalizers(f)
	if err != nil || len(found) != 1 {
		t.Fatalf("%+v, %v; %+v", found, err, f.Process.Pending)
	}
	if h := found[0]; len(h.Evidence) != 2 || !strings.Contains(h.Evidence[1].Says, "diagnose.TestFinalizersWait.func1") {
		t.Errorf("%+v", h)
	}
}

func TestReadEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ReadFacts(ctx, procmem.FS{}, &ReadOptions{Watch: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := ReadFacts(context.Background(), procmem.FS{}, &ReadOptions{PID: 1 << 30}); err == nil ||
		!strings.Contains(err.Error(), "no such process") {
		t.Errorf("no process: %v", err)
	}
	if _, err := ReadFacts(context.Background(), procmem.FS{}, nil); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}
