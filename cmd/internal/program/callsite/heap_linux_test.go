package callsite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/goversion"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

var releases = goversion.SupportOf(goversion.Sites).Releases()

// startSites starts a program of testenv.SitesSource. ask has it do something and returns
// once it has.
func startSites(t *testing.T, path string, env ...string) (pid int, ask func(line string)) {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = append(append(os.Environ(), "GOGC=off", "GOMEMLIMIT=", "GODEBUG="), env...)
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	ask = func(line string) {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if answer, err := out.ReadString('\n'); err != nil || answer != "done\n" {
			t.Fatalf("%q, %v", answer, err)
		}
	}
	ask("started")
	return cmd.Process.Pid, ask
}

func readHeap(t *testing.T, pid int) (*goruntime.HeapProfile, *profile.Profile) {
	t.Helper()
	target, err := goruntime.Attach(procmem.FS{}, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	h, err := target.HeapProfile(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	p, err := HeapProfile(h, Of(target), "program", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return h, p
}

// generic is what traces leave out of names, and runtime/pprof does not.
var generic = regexp.MustCompile(`\[.*\]`)

// samples returns the values by size and stack.
func samples(p *profile.Profile) map[string][4]int64 {
	out := make(map[string][4]int64)
	for _, s := range p.Sample {
		if s.Value[0] == 0 {
			continue
		}
		var b strings.Builder
		fmt.Fprint(&b, s.NumLabel["bytes"])
		for _, l := range s.Location {
			for _, line := range l.Line {
				fmt.Fprintf(&b, "\n%s %s:%d", generic.ReplaceAllString(line.Function.Name, "[...]"), filepath.Base(line.Function.Filename), line.Line)
			}
		}
		v := out[b.String()]
		for i := range v {
			v[i] += s.Value[i]
		}
		out[b.String()] = v
	}
	return out
}

func readFile(t *testing.T, path string) *profile.Profile {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHeapProfile compares what is read of a program from outside with the profile that it
// writes itself: every sample, with its stack, is the same.
func TestHeapProfile(t *testing.T) {
	testenv.EveryBuild(t, releases, testenv.SitesSource(), func(t *testing.T, path string) {
		for _, rate := range []string{"1", "4096"} {
			pid, ask := startSites(t, path, "RATE="+rate)
			own := filepath.Join(t.TempDir(), "heap.pprof")
			ask("profile " + own)
			h, p := readHeap(t, pid)
			want := readFile(t, own)
			if h.Moving || fmt.Sprint(h.Rate) != rate || p.Period != want.Period {
				t.Errorf("rate %d, period %d, want %d, moving %v", h.Rate, p.Period, want.Period, h.Moving)
			}
			compareSamples(t, samples(p), samples(want))
			if rate != "1" {
				continue
			}
			objects := make(map[string]int64)
			for stack, v := range samples(p) {
				for _, name := range []string{"main.keepNodes", "main.newChunk", "main.(*keeper).keep "} {
					if _, at, _ := strings.Cut(stack, "\n"); strings.HasPrefix(at, name) {
						objects[name] += v[2]
					}
				}
			}
			// keep has 33 slices and 33 closures, and one array of closures.
			if want := map[string]int64{"main.keepNodes": 1021, "main.newChunk": 51, "main.(*keeper).keep ": 67}; !maps.Equal(objects, want) {
				t.Errorf("live objects %v, want %v", objects, want)
			}
		}
	})
}

func compareSamples(t *testing.T, have, want map[string][4]int64) {
	t.Helper()
	if len(want) < 10 {
		t.Errorf("only %d samples", len(want))
	}
	wrong := 0
	for k, w := range want {
		if have[k] != w {
			if wrong++; wrong < 4 {
				t.Errorf("%v, want %v: %s", have[k], w, k)
			}
		}
	}
	for k, h := range have {
		if _, ok := want[k]; !ok {
			if wrong++; wrong < 8 {
				t.Errorf("not in its own profile: %v: %s", h, k)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d differ", wrong, len(want))
	}
}

// TestNoCycle reads a program that has not collected yet.
func TestNoCycle(t *testing.T) {
	testenv.Long(t)
	path := testenv.Build{Source: testenv.SitesSource(), Args: []string{"-ldflags=-s -w"}, Env: []string{"CGO_ENABLED=0"}}.Do(t)
	pid, ask := startSites(t, path, "RATE=1")
	_, p := readHeap(t, pid)
	own := filepath.Join(t.TempDir(), "heap.pprof")
	ask("write " + own)
	known := func(p *profile.Profile) map[string][4]int64 {
		out := samples(p)
		maps.DeleteFunc(out, func(k string, _ [4]int64) bool {
			return !strings.Contains(k, "main.keep") && !strings.Contains(k, "main.deep") && !strings.Contains(k, "main.waste")
		})
		return out
	}
	compareSamples(t, known(p), known(readFile(t, own)))
}

// TestNoHeapProfile is about programs that keep none.
func TestNoHeapProfile(t *testing.T) {
	testenv.Long(t)
	const source = `package main

import "os"

func main() { os.Stdout.Write([]byte("ready\n")); os.Stdin.Read(make([]byte, 1)) }
`
	unlinked := testenv.Build{Source: testenv.Module(source), Args: []string{"-ldflags=-s -w"}, Env: []string{"CGO_ENABLED=0"}}.Do(t)
	linked := testenv.Build{Source: testenv.SitesSource(), Args: []string{"-ldflags=-s -w"}, Env: []string{"CGO_ENABLED=0"}}.Do(t)
	for name, c := range map[string]struct{ path, env, want string }{
		"not linked":   {unlinked, "", "net/http/pprof"},
		"switched off": {linked, "GODEBUG=memprofilerate=0", "memprofilerate=0"},
	} {
		cmd := exec.Command(c.path)
		cmd.Env = append(os.Environ(), c.env)
		in, out := testenv.Start(t, cmd)
		if name == "switched off" {
			if _, err := io.WriteString(in, "\n"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		target, err := goruntime.Attach(procmem.FS{}, cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		h, err := target.HeapProfile(context.Background())
		if !errors.Is(err, goruntime.ErrNoHeapProfile) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
		target.Close()
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}
