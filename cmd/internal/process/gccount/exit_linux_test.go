//go:build amd64 || arm64

package gccount

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/witness"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/system/spawn"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestReaderAtExit reads a process once, while it waits in exit_group: all that its GC did
// is there.
func TestReaderAtExit(t *testing.T) {
	path := testenv.Build{Source: testenv.CyclesSource(), Args: []string{"-ldflags=-s -w"}, Env: []string{"CGO_ENABLED=0"}}.Do(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte("\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(filepath.Join(dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var f Figures
	read := errors.New("its end was not seen")
	tree, err := witness.Start(spawn.Program{Path: path, Argv: []string{path, "forced", "20"}, Env: os.Environ(), Files: [3]*os.File{in, out, os.Stderr}},
		witness.Options{OnExit: func(e *witness.Exit) {
			if !e.Seen {
				return
			}
			var r *Reader
			if r, read = Open(new(goruntime.Programs), procmem.FS{}, e.PID, true); read == nil {
				f = r.Figures()
				r.Close()
			}
		}})
	if errors.Is(err, witness.ErrNested) || errors.Is(err, witness.ErrUnsupported) {
		testenv.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := tree.Wait(); err != nil {
		t.Fatal(err)
	}
	<-tree.Ended()
	tree.Close()
	if read != nil {
		t.Fatal(read)
	}
	said, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil || !strings.Contains(string(said), " NumGC=20 ") {
		t.Fatalf("%.300s, %v", said, err)
	}
	if f.Cycles != 20 || f.Forced != 20 || f.PauseTotal == 0 || f.LostPauses != 0 {
		t.Errorf("%+v", f)
	}
}
