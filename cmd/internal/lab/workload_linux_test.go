package lab

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/cmd/internal/lab/workload"
	"github.com/foliomem/folio/internal/test/testenv"
)

// workloadRun builds and runs an experiment once, with little work.
func workloadRun(t *testing.T, e *Experiment, p Params) *Outcome {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	m := ReadMachine()
	if p.Size > m.Spare/128 {
		testenv.Missing(t, "too little memory")
	}
	less := *e
	less.defaults = p
	res, err := Run(context.Background(), Options{Experiments: []*Experiment{&less}, Machine: m, Runner: Process([]string{os.Args[0], "arm"}, nil)})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return res.Outcomes[0]
}

func needGo(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		testenv.Missing(t, "%v", err)
	}
}

// needModules skips a test where the modules of program index cannot be had.
func needModules(t *testing.T) {
	t.Helper()
	needGo(t)
	dir := t.TempDir()
	if _, err := workload.Index(dir, nil); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if .Error}}{{.Error}}{{end}}", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), newWorkloadBuild(stock, dir).env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		testenv.Missing(t, "the modules of the index cannot be had: %v\n%s", err, out)
	}
}

// figures returns the value of each figure of an arm that ran once.
func figures(t *testing.T, o *Outcome, arm string) map[string]float64 {
	t.Helper()
	a := o.Arm(arm)
	if a.Arm.NotRun != "" || a.Failure != "" {
		t.Fatalf("%s: %s%s", arm, a.Arm.NotRun, a.Failure)
	}
	out := make(map[string]float64)
	for _, f := range o.Experiment.Figures {
		v := a.Values(o.Params.Size, f.Key)
		if len(v) != 1 || v[0] < 0 {
			t.Fatalf("%s: %s is %v", arm, f.Key, v)
		}
		out[f.Key] = v[0]
	}
	return out
}

// All arms are built as they say, and do the same.
func TestIndexWork(t *testing.T) {
	testenv.FullOnly(t)
	needModules(t)
	const documents = 60
	o := workloadRun(t, index, Params{Size: 1 << 20, Count: documents, Rounds: 1})
	if o.Err != nil || !o.Complete {
		t.Fatalf("%v, complete %v", o.Err, o.Complete)
	}
	for _, a := range o.Arms {
		if why := idle(a.Arm.Name); a.Arm.Name == "malloc-prefetch" && why != "" {
			if !strings.Contains(a.Arm.NotRun, why) || a.Arm.Missing {
				t.Errorf("%s: %q", a.Arm.Name, a.Arm.NotRun)
			}
			continue
		}
		f := figures(t, o, a.Arm.Name)
		if f["documents"] != documents || f["matches"] <= 0 || f["matches"] > documents || f[opKey] <= 0 ||
			f["peak_rss_bytes"] < 1<<20 || f[runtimeGC.Key] > 1 {
			t.Errorf("%s: %v", a.Arm.Name, f)
		}
	}
	if often, seldom := figures(t, o, "stock")["gc_cycles"], figures(t, o, "gogc-400")["gc_cycles"]; seldom > often || often < 2 {
		t.Errorf("%v GC cycles with GOGC=400, %v with the default", seldom, often)
	}
	if m := o.Conclusions(); len(m) != 1 || !strings.HasPrefix(m[0], "Inconclusive: 1 run per arm.") {
		t.Errorf("meaning: %q", m)
	}
	needTHP(t)
	if all, err := settings.Read("/" + thpDir + "enabled"); err != nil || all != "madvise" {
		return // stock may have huge pages, too
	}
	for arm, want := range map[string]bool{"stock": false, "hugepages-off": false, "heap-hugepages": true,
		"all-gogc-400": true, "all-auto": true} {
		f := figures(t, o, arm)
		if huge := f["huge_fraction"] > 0; huge != want {
			t.Errorf("%s: %v of the memory is huge", arm, f["huge_fraction"])
		}
		if base := figures(t, o, "stock")["faults"]; want && f["faults"] >= base {
			t.Errorf("%s: %v faults, stock %v", arm, f["faults"], base)
		}
	}
}

// Also where it changes nothing, a patch is built with and timed.
func TestMallocWork(t *testing.T) {
	testenv.Long(t)
	needGo(t)
	o := workloadRun(t, malloc, Params{Size: 32 << 10, Count: 1, Rounds: 1})
	if o.Err != nil || !o.Complete || len(o.Arms) != 3 {
		t.Fatalf("%v, complete %v, %d arms", o.Err, o.Complete, len(o.Arms))
	}
	for _, a := range o.Arms {
		if f := figures(t, o, a.Arm.Name); f["malloc8_seconds"] <= 0 || f["pointers32768_seconds"] <= 0 {
			t.Errorf("%s: %v", a.Arm.Name, f)
		}
	}
	if m := o.Conclusions(); len(m) != 1 || !strings.HasPrefix(m[0], "Inconclusive: 1 run per arm.") {
		t.Errorf("meaning: %q", m)
	}
}

// Where stock cannot be built there is no answer, and the lab says why; where
// only another arm cannot, that one is absent.
func TestNoWorkload(t *testing.T) {
	testenv.Long(t)
	real, err := exec.LookPath("go")
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	dir := t.TempDir()
	for _, tt := range []struct{ name, script, want string }{
		{"none", "", "it needs the go command, which is not on PATH"},
		{"one that fails", "#!/bin/sh\n[ $1 = env ] && exec " + real +
			" \"$@\"\necho '# runtime' >&2; echo 'malloc.go:1: no' >&2; exit 2\n", "go build: malloc.go:1: no"},
		{"one that makes nothing", "#!/bin/sh\n[ $1 = env ] && exec " + real + " \"$@\"\nexit 0\n", "go build made nothing"},
	} {
		if tt.script != "" {
			if err := os.WriteFile(filepath.Join(dir, "go"), []byte(tt.script), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", dir+":/bin:/usr/bin")
		if tt.script == "" {
			t.Setenv("PATH", dir)
		}
		o := workloadRun(t, malloc, Params{Size: 4096, Count: 1, Rounds: 1})
		if o.Err == nil || !strings.Contains(o.Err.Error(), "malloc: stock: "+tt.want) {
			t.Errorf("%s: %v", tt.name, o.Err)
		}
		for _, a := range o.Arms {
			want := "there is nothing to compare it with: stock cannot run"
			if a.Arm.Name == stock {
				want = tt.want
			}
			if !strings.Contains(a.Arm.NotRun, want) || a.Arm.Missing != (a.Arm.Name == stock) {
				t.Errorf("%s: %s not run: %q, missing %v", tt.name, a.Arm.Name, a.Arm.NotRun, a.Arm.Missing)
			}
		}
	}
	// Patches that do not fit the toolchain are not an obstacle for stock.
	needGoAt(t, dir, "#!/bin/sh\n[ $1 = env ] && "+real+" \"$@\" | sed 's/go1\\.[0-9]*/go1.3/' || exec "+real+" \"$@\"\n")
	t.Setenv("PATH", dir+":"+filepath.Dir(real)+":/bin:/usr/bin")
	o := workloadRun(t, malloc, Params{Size: 4096, Count: 1, Rounds: fewestRuns})
	if o.Err != nil || !o.Arm(stock).Ran() {
		t.Fatalf("%v, stock ran: %v", o.Err, o.Arm(stock).Ran())
	}
	for _, a := range o.Arms {
		if a.Arm.Name != stock && !strings.Contains(a.Arm.NotRun, "does not fit go1.3") {
			t.Errorf("%s not run: %q", a.Arm.Name, a.Arm.NotRun)
		}
	}
	if m := o.Conclusions(); !slices.Equal(m, []string{"Nothing could be built to compare stock with."}) {
		t.Errorf("%q", m)
	}
}

func needGoAt(t *testing.T, dir, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
}

// The programs are not vetted with this module, so they are here.
func TestVetWorkloads(t *testing.T) {
	testenv.Long(t)
	needModules(t)
	folio, err := workload.FindFolio()
	if err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]func(string) (*workload.Source, error){
		"malloc": workload.Malloc,
		"assist": workload.Assist,
		"index":  func(dir string) (*workload.Source, error) { return workload.Index(dir, folio) },
	} {
		s, err := source(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("go", append(append([]string{"vet"}, s.Flags...), ".")...)
		cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), newWorkloadBuild(stock, "").env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// Arms assist as they say: not at all with assists off, and otherwise only beyond a bound.
// All of them serve the same requests.
func TestAssistWork(t *testing.T) {
	testenv.FullOnly(t)
	needGo(t)
	o := workloadRun(t, assist, Params{Size: 16 << 20, Count: 1500, Rounds: 1})
	if o.Err != nil || !o.Complete || len(o.Arms) != 6 {
		t.Fatalf("%v, complete %v, %d arms", o.Err, o.Complete, len(o.Arms))
	}
	for _, a := range o.Arms {
		f := make(map[string]float64)
		for _, fig := range o.Experiment.Figures {
			if v := a.Values(o.Params.Size, fig.Key); len(v) == 1 {
				f[fig.Key] = v[0]
			}
		}
		if f["requests"] < 1000 || f["gc_cycles"] < 1 || f[heapKey] < 16<<20 || f["peak_rss_bytes"] < f[heapKey]/2 || f["cpu_seconds"] <= 0 {
			t.Errorf("%s: %v", a.Arm.Name, f)
		}
		if a.Arm.Name == "assist-off" && f["assist_seconds"] != 0 {
			t.Errorf("assists are off, and took %v s", f["assist_seconds"])
		}
		// On a busy machine the load is late, and latencies are left out.
		if p99, ok := f[p99Key]; ok && (f["p50_seconds"] <= 0 || p99 < f["p50_seconds"] || f[p999Key] < p99 || f["missed_fraction"] > 1) {
			t.Errorf("%s: %v", a.Arm.Name, f)
		}
	}
	if m := o.Conclusions(); len(m) != 1 || !strings.HasPrefix(m[0], "Inconclusive: 1 run per arm.") {
		t.Errorf("meaning: %q", m)
	}
}
