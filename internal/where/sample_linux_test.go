package where

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/perf"
)

// works are what the program of testdata can do, with what must be seen of it.
// How much there is of it is no matter of tests.
var works = []struct {
	name    string
	classes []Class
	site    string // where the program causes it
	faults  bool   // the site takes page faults
}{
	{"objects", []Class{GCMark, Allocation}, "main.tree", false},
	{"growMap", []Class{Growth, Program}, "main.growMap", true},
	{"growSlice", []Class{Growth, PageFaults}, "main.growSlice", true},
	{"zeroed", []Class{Zeroing, PageFaults}, "main.zeroed", true},
	{"clearOwn", []Class{Program}, "", false},
	{"compute", []Class{Program}, "", false},
	{"call", []Class{Syscalls}, "", false},
	{"switches", []Class{Scheduler}, "", false},
	{"collect", []Class{GCMark, GCSweep}, "", false},
}

func TestSampledProgram(t *testing.T) {
	for _, v := range []struct {
		name string
		args []string
	}{
		{"plain", nil},
		{"stripped", []string{"-trimpath", "-ldflags=-s -w"}},
		{"pie", []string{"-buildmode=pie"}},
	} {
		t.Run(v.name, func(t *testing.T) {
			bin := build(t, "", v.args...)
			runtimeTime, other := 0.0, 0.0
			for _, w := range works {
				_, r := collect(t, kernelNames(t), perf.Config{Faults: true}, bin, "300", w.name)
				for _, class := range w.classes {
					// Without the kernel's side its time cannot be told apart.
					if s := r.Share(class); s.Fraction == 0 && (r.Kernel || class != PageFaults && class != Syscalls) {
						t.Errorf("%s: nothing is %s: %+v", w.name, class, r.Classes)
					}
				}
				if w.site != "" {
					checkSite(t, w.name, r.Sites, w.site)
				}
				if w.faults && r.Faults > 0 {
					checkSite(t, w.name, r.FaultSites, w.site)
				}
				if r.Unsymbolised*20 > r.Samples {
					t.Errorf("%s: %d of %d samples have no names: %q", w.name, r.Unsymbolised, r.Samples, r.Notes)
				}
				for _, s := range r.Classes {
					if s.Class != Program && s.Class != Kernel && s.Class != PageFaults && s.Class != Syscalls {
						runtimeTime += s.Seconds
					}
				}
				other += r.Share(Other).Seconds
			}
			// A new version of Go has functions that no rule knows: see rules.go.
			if other > 0.02*runtimeTime {
				t.Errorf("%.1f%% of the runtime's time is in functions that no rule knows", 100*other/runtimeTime)
			}
		})
	}
}

func checkSite(t *testing.T, work string, sites []Site, want string) {
	t.Helper()
	i := slices.IndexFunc(sites, func(s Site) bool { return s.Func == want })
	if i < 0 {
		t.Errorf("%s: %s is not among the sites: %+v", work, want, sites)
		return
	}
	if s := sites[i]; filepath.Base(s.File) != "main.go" || s.Line == 0 {
		t.Errorf("%s: %s is at %s:%d", work, want, s.File, s.Line)
	}
}

// The runtimes of older versions, with what their rules find.
func TestSampledProgramOfOlderGo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds with other toolchains")
	}
	for _, version := range versions[1:] {
		t.Run(version, func(t *testing.T) {
			bin := build(t, version)
			_, r := collect(t, kernelNames(t), perf.Config{}, bin, "150", "objects", "growMap", "growSlice", "zeroed", "call", "switches")
			for _, class := range []Class{GCMark, Allocation, Growth, Zeroing, Scheduler, Program} {
				if r.Share(class).Fraction == 0 {
					t.Errorf("nothing is %s: %+v", class, r.Classes)
				}
			}
			for _, site := range []string{"main.tree", "main.growSlice", "main.growMap"} {
				checkSite(t, version, r.Sites, site)
			}
			if o := r.Share(Other).Fraction; o > 0.02 {
				t.Errorf("%.1f%% of the time is in functions that no rule knows", 100*o)
			}
		})
	}
}

func TestPprofOpensProfile(t *testing.T) {
	bin := build(t, "")
	c, r := collect(t, kernelNames(t), perf.Config{Faults: true}, bin, "300", "objects")
	var b bytes.Buffer
	if err := c.WritePprof(&b, time.Second); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "profile")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"-top -cum": "main.tree", "-tags": "gc_mark", "-top -tagfocus=class=allocation": "runtime.mallocgc", "-top -sample_index=samples": "Type: samples"} {
		out, err := exec.Command("go", append(append([]string{"tool", "pprof"}, strings.Fields(args)...), path)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("go tool pprof %s: %v, without %s\n%s", args, err, want, out)
		}
	}
	if r.Samples == 0 {
		t.Error("no samples")
	}
}

// A program that runs another one is named by what it runs then.
func TestExecIntoAnotherProgram(t *testing.T) {
	bin := build(t, "")
	_, r := collect(t, kernelNames(t), perf.Config{}, "/bin/sh", "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; "+bin+" 100 compute; exec "+bin+" 200 growSlice")
	checkSite(t, "exec", r.Sites, "main.growSlice")
	if r.Share(Growth).Fraction == 0 {
		t.Errorf("nothing is growth: %+v", r.Classes)
	}
}
