package leak

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/system/inspect"
	"github.com/foliomem/folio/internal/test/testenv"
)

// start starts a program of testenv.LeaksSource.
func start(t *testing.T, path, what string) (pid int) {
	t.Helper()
	cmd := exec.Command(path, what)
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd.Process.Pid
}

// seen are the findings, in words.
func seen(r *Report) string {
	var out []string
	for _, f := range r.Found {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s%s", f.Kind, f.Func, f.Title)))
	}
	return strings.Join(out, ", ")
}

// TestPrograms watches programs that leak and programs that do not. A program is watched
// again for longer, where a busy machine let it do too little.
func TestPrograms(t *testing.T) {
	if !testenv.Full() {
		t.Skip("watches programs for seconds: with FOLIO_TEST_FULL=1, as in bench/full")
	}
	path, err := testenv.Build{Source: testenv.LeaksSource(), Args: []string{"-ldflags=-s -w"}, Env: []string{"CGO_ENABLED=1"}}.Try(t)
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	for what, want := range map[string]string{
		"map": "heap main.leakMap", "slice": "heap main.leakSlice", "goroutines": "goroutines main.leakGoroutine", "timer": "heap main.leakTimer",
		"malloc": "memory malloc of the C library", "cache": "", "pool": "", "sawtooth": "", "ring": "", "bursts": "",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			pid := start(t, path, what)
			var got string
			for _, long := range []time.Duration{4 * time.Second, 8 * time.Second, 30 * time.Second} {
				r, err := Watch(context.Background(), inspect.New(), pid, long, long/40, func(time.Duration) {})
				if err != nil {
					t.Fatal(err)
				}
				got = seen(r)
				if want == "" && got == "" || want != "" && strings.Contains(got, want) {
					return
				}
			}
			t.Errorf("grows: %q, want %q", got, want)
		})
	}
}

// TestEnds is about processes that end while they are watched, and that are not there.
func TestEnds(t *testing.T) {
	testenv.Long(t)
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	n := 0
	r, err := Watch(context.Background(), inspect.New(), cmd.Process.Pid, time.Hour, time.Millisecond, func(time.Duration) {
		if n++; n == 5 {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	if err != nil || !r.Ended || r.Readings < 4 || len(r.Notes) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = Watch(context.Background(), inspect.New(), cmd.Process.Pid, time.Hour, time.Millisecond, func(time.Duration) {}); !errors.Is(err, inspect.ErrNoProcess) {
		t.Errorf("%+v, %v", r, err)
	}
}
