package leak

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestLibraries watches a program of C with two Go libraries: the go statements and heap
// profiles of both, and the finalizers that wait.
func TestLibraries(t *testing.T) {
	libs := []string{testenv.Library(t, "liba.so"), testenv.Library(t, "libb.so")}
	h := testenv.StartHost(t, append([]string{testenv.HostProgram(t)}, libs...)...)
	for i := range libs {
		h.Do(i, "wait 3")
		h.Do(i, "keep 2")
		h.Do(i, fmt.Sprintf("stick %d", 100*(i+1)))
		h.Do(i, "collect")
	}
	r, err := Watch(context.Background(), inspect.New(), h.PID, Options{Duration: time.Second, Most: time.Second, Interval: 50 * time.Millisecond}, func(time.Duration, []string) {})
	if err != nil {
		t.Fatal(err)
	}
	if r.Starts == nil || *r.Starts != 2 { // one in each
		t.Errorf("%v go statements, want 2", r.Starts)
	}
	if r.Cycles == nil || *r.Cycles != 2 || r.Sites == nil || *r.Sites < 2 {
		t.Errorf("%v heap profiles, want one of each library; %v lines", r.Cycles, r.Sites)
	}
	if w := r.Waiting; w == nil || w.First.Finalizers != 300 || w.Last.Finalizers != 300 || w.Last.Cleanups == nil || *w.Last.Cleanups != 0 || len(w.Last.Functions) != 2 ||
		w.Last.Functions[0].Func != "main.stuck" || w.Last.Functions[0].Count != 200 || w.Last.Functions[1].Count != 100 {
		t.Errorf("%s finalizers and cleanups wait, want 100 and 200 finalizers", testenv.Dump(w))
	}
	if !slices.Contains(r.Notes, noCycles) {
		t.Errorf("cycles are not known, and no note says so: %q", r.Notes)
	}
	if len(r.Found) != 0 {
		t.Errorf("nothing grows: %+v", r.Found)
	}
}
