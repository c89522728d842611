package profile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	pgo "github.com/foliomem/folio/cmd/internal/program/build"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/test/testenv"
)

type work struct {
	name    string
	classes []Class
	site    string // where the program causes it
	faults  bool   // the site takes page faults
}

// works are what the program of testdata can do, with what must be seen of it.
// How much there is of it is no matter of tests.
var works = []work{
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

// A program's samples are a matter of chance: what must be seen of it is looked
// for in longer and longer runs. What is never seen in them is not there.
const (
	firstRun = 200 // ms of CPU time for each work
	runs     = 6   // each twice as long as the one before
)

// sampleUntil samples runs of a program's works until check has nothing to say.
func sampleUntil(t *testing.T, cfg perf.Config, bin string, names []string, check func(*Result) []string) {
	t.Helper()
	var missing []string
	for i := range runs {
		_, r := collect(t, kernelNames(t), cfg, bin, append([]string{strconv.Itoa(firstRun << i)}, names...)...)
		if missing = check(r); len(missing) == 0 {
			return
		}
	}
	t.Errorf("%v: %s", names, strings.Join(missing, "; "))
}

// missingClasses says which classes a result has no samples of.
func missingClasses(r *Result, classes []Class) (missing []string) {
	for _, class := range classes {
		// Without the kernel's side its time cannot be told apart.
		if r.Share(class).Fraction == 0 && (r.Kernel || class != PageFaults && class != Syscalls) {
			missing = append(missing, fmt.Sprintf("nothing is %s: %+v", class, r.Classes))
		}
	}
	return missing
}

// missingSite says what is wrong with a function's place among the sites.
func missingSite(sites []Site, want string) []string {
	i := slices.IndexFunc(sites, func(s Site) bool { return s.Func == want })
	if i < 0 {
		return []string{fmt.Sprintf("%s is not among the sites: %+v", want, sites)}
	}
	if s := sites[i]; filepath.Base(s.File) != "main.go" || s.Line == 0 {
		return []string{fmt.Sprintf("%s is at %s:%d", want, s.File, s.Line)}
	}
	return nil
}

// missingRules says whether functions that no rule knows take more than 2% of
// the time that is not the program's own: a new version of Go has such, see rules.go.
func missingRules(r *Result) []string {
	runtimeTime := 0.0
	for _, s := range r.Classes {
		if s.Class != Program && s.Class != Kernel && s.Class != PageFaults && s.Class != Syscalls {
			runtimeTime += s.Seconds
		}
	}
	if other := r.Share(Other).Seconds; other > 0.02*runtimeTime {
		return []string{fmt.Sprintf("%.1f%% of the runtime's time is in functions that no rule knows", 100*other/runtimeTime)}
	}
	return nil
}

// TestSampledProgram samples one work after the other.
func TestSampledProgram(t *testing.T) {
	bin := build(t, "")
	for _, w := range works {
		sampleUntil(t, perf.Config{Faults: true}, bin, []string{w.name}, func(r *Result) []string { return missingOf(r, w) })
	}
}

// TestSampledBuilds samples all works in one run, of programs that are built otherwise.
func TestSampledBuilds(t *testing.T) {
	testenv.Long(t)
	var names []string
	for _, w := range works {
		names = append(names, w.name)
	}
	for _, v := range []struct {
		name string
		args []string
	}{
		{"plain", nil},
		{"stripped", []string{"-trimpath", "-ldflags=-s -w"}},
		{"pie", []string{"-buildmode=pie"}},
	} {
		t.Run(v.name, func(t *testing.T) {
			sampleUntil(t, perf.Config{Faults: true}, build(t, "", v.args...), names, func(r *Result) []string {
				missing := missingRules(r)
				for _, w := range works {
					missing = append(missing, missingOf(r, w)...)
				}
				return missing
			})
		})
	}
}

// missingOf says what a result lacks of a work.
func missingOf(r *Result, w work) []string {
	missing := missingClasses(r, w.classes)
	if w.site != "" {
		missing = append(missing, missingSite(r.Sites, w.site)...)
	}
	if w.faults && r.Faults > 0 {
		missing = append(missing, missingSite(r.FaultSites, w.site)...)
	}
	if r.Unsymbolized*20 > r.Samples {
		missing = append(missing, fmt.Sprintf("%d of %d samples have no names: %q", r.Unsymbolized, r.Samples, r.Notes))
	}
	return missing
}

// The runtimes of older versions, with what their rules find.
func TestSampledProgramOfOlderGo(t *testing.T) {
	for _, version := range testenv.Versions(t, versions) {
		t.Run(version, func(t *testing.T) {
			bin := build(t, version)
			names := []string{"objects", "growMap", "growSlice", "zeroed", "call", "switches"}
			sampleUntil(t, perf.Config{}, bin, names, func(r *Result) []string {
				missing := missingClasses(r, []Class{GCMark, Allocation, Growth, Zeroing, Scheduler, Program})
				for _, site := range []string{"main.tree", "main.growSlice", "main.growMap"} {
					missing = append(missing, missingSite(r.Sites, site)...)
				}
				return append(missing, missingRules(r)...)
			})
		})
	}
}

func TestPprofOpensProfile(t *testing.T) {
	testenv.Long(t)
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
	for args, want := range map[string]string{"-top -cum": "main.tree", "-tags": "gc_mark",
		"-top -tagfocus=class=allocation": "runtime.mallocgc", "-top -sample_index=samples": "Type: samples"} {
		out, err := exec.Command("go", append(append([]string{"tool", "pprof"}, strings.Fields(args)...), path)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("go tool pprof %s: %v, without %s\n%s", args, err, want, out)
		}
	}
	if r.Samples == 0 {
		t.Error("no samples")
	}
	startsAsWritten(t, b.Bytes())
	// What the compiler is given, it takes.
	if _, err := pgo.CheckPGO(path); err != nil {
		t.Error(err)
	}
	if out, err := exec.Command("go", "tool", "preprofile", "-i", path, "-o", filepath.Join(t.TempDir(), "pre")).CombinedOutput(); err != nil {
		t.Errorf("go tool preprofile: %v\n%s", err, out)
	}
}

// startsAsWritten compares where a profile says that functions of the test's program start
// with where they do.
func startsAsWritten(t *testing.T, data []byte) {
	t.Helper()
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range p.Function {
		name, ok := strings.CutPrefix(f.Name, "main.")
		if !ok || strings.ContainsAny(name, ".[(") || f.Filename == "" {
			continue
		}
		source, err := os.ReadFile(filepath.Join("testdata", "program", filepath.Base(f.Filename)))
		if err != nil {
			t.Fatal(err)
		}
		before, _, ok := strings.Cut(string(source), "\nfunc "+name+"(")
		if !ok {
			continue
		}
		found++
		if want := int64(strings.Count(before, "\n")) + 2; f.StartLine != want {
			t.Errorf("%s starts at line %d, want %d", f.Name, f.StartLine, want)
		}
	}
	if found < 2 {
		t.Errorf("%d functions of the program are in the profile", found)
	}
}

// A program that runs another one is named by what it runs then.
func TestExecIntoAnotherProgram(t *testing.T) {
	bin := build(t, "")
	loop := "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; " + bin + ` "$0" compute; exec ` + bin + ` "$0" growSlice`
	var missing []string
	for i := range runs {
		_, r := collect(t, kernelNames(t), perf.Config{}, "/bin/sh", "-c", loop, strconv.Itoa(firstRun<<i))
		if missing = append(missingSite(r.Sites, "main.growSlice"), missingClasses(r, []Class{Growth})...); len(missing) == 0 {
			return
		}
	}
	t.Error(strings.Join(missing, "; "))
}
