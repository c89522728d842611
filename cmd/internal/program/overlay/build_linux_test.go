package overlay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goversion"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// together is what the tests build with: the standard library is compiled anew for
// every set of patches, so there are few of them.
var together = []string{NoAssist, HeapHugePages, HeapMinimum, MallocPrefetch}

// probe builds testdata/probe.
func probe(t *testing.T, env []string, flags []string, patches ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "probe")
	o, err := Build(context.Background(), BuildOptions{Dir: "testdata/probe", Env: append(os.Environ(), env...),
		Flags: flags, Package: ".", Out: out, Patches: patches})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := ReadFile(out); err != nil || r == nil || r.String() != Names(o.Patches) || r.Patches[0].Hash != o.Patches[0].Hash {
		t.Fatalf("the program says that it has %v, %v; built with %s", r, err, Names(o.Patches))
	}
	return out
}

// figures runs the probe, and returns what it prints.
func figures(t *testing.T, program string, env ...string) map[string]int {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stderr = &out // println
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", env, err, out.String())
	}
	got := make(map[string]int)
	for s := bufio.NewScanner(&out); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), " ")
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		got[name] = n
	}
	return got
}

// needMadvise skips where the kernel gives no huge page to who asks for it, or gives
// them to all.
func needMadvise(t *testing.T) {
	t.Helper()
	thp, err := procmem.New("").THP()
	if err != nil {
		testenv.Missing(t, "THP: %v", err)
	} else if thp.Enabled.Selected != "madvise" {
		testenv.Missing(t, "THP is %q, want madvise", thp.Enabled.Selected)
	}
}

// fallbacks counts how often the kernel had no huge page for a page fault.
func fallbacks(t *testing.T) uint64 {
	t.Helper()
	v, err := procmem.New("").Vmstat()
	if err != nil {
		t.Fatal(err)
	}
	return v["thp_fault_fallback"]
}

func TestHeapHugePages(t *testing.T) {
	testenv.Long(t)
	needMadvise(t)
	program := probe(t, nil, []string{"-ldflags=-s -w"}, together...) // stripped, and yet it has its record
	var on map[string]int
	for tries := 10; on == nil; tries-- { // the counter is that of all processes
		if tries == 0 {
			testenv.Missing(t, "the kernel has no huge pages left")
		}
		lacked := fallbacks(t)
		on = figures(t, program, "WORK=map")
		if fallbacks(t) > lacked {
			on = nil
		}
	}
	off := figures(t, program, "WORK=map", "FOLIO_HUGEPAGES=off")
	debug := figures(t, program, "WORK=map", "GODEBUG=disablethp=1")
	if off["huge"] != 0 || debug["huge"] != 0 {
		t.Errorf("on huge pages though it is turned off: %v, %v", off, debug)
	}
	if on["faults"] > off["faults"]/20 {
		t.Errorf("%d page faults, %d without huge pages: want at most 5%%", on["faults"], off["faults"])
	}
	if on["huge"] < on["resident"]*95/100 {
		t.Errorf("of %d bytes resident %d are on huge pages: want 95%%", on["resident"], on["huge"])
	}
}

func TestHeapMinimum(t *testing.T) {
	program := probe(t, nil, []string{"-ldflags=-s -w"}, together...)
	// How often the GC runs is up to the machine, when it runs first is not.
	for _, c := range []struct {
		env   []string
		first int // size of the heap
	}{
		{nil, 4 << 20},
		{[]string{"FOLIO_HEAPMINIMUM=256MiB"}, 256 << 20},
		{[]string{"FOLIO_HEAPMINIMUM=256MiB", "GOGC=5"}, (256 << 20) * 5 / 100},
	} {
		got := figures(t, program, append([]string{"WORK=garbage", "GOGC=100"}, c.env...)...)
		if got["first"] != c.first {
			t.Errorf("%v: the GC first runs at %d bytes, want %d", c.env, got["first"], c.first)
		}
		if ran, want := got["collections"] > 0, c.first < 64<<20; ran != want {
			t.Errorf("%v: %d collections of 64 MiB of garbage", c.env, got["collections"])
		}
	}
	for _, bad := range []string{"x", "-1", "0", "2TiB", "1MB"} {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "WORK=garbage", "FOLIO_HEAPMINIMUM="+bad)
		said, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.HasPrefix(string(said), "FOLIO_HEAPMINIMUM="+bad+": want bytes") {
			t.Errorf("%s: %v, %q", bad, err, said)
		}
	}
}

// The trees of source 1: an arena after the other, each of them short-lived.
func TestArenas(t *testing.T) {
	testenv.Long(t)
	needMadvise(t)
	env := []string{"GOEXPERIMENT=arenas"}
	dir := "../../../../examples/binarytrees/goarena"
	build := func(patches ...string) string {
		out := filepath.Join(t.TempDir(), "trees")
		if _, err := Build(context.Background(), BuildOptions{Dir: dir, Env: append(os.Environ(), env...), Package: ".",
			Out: out, Patches: patches}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	stock := testenv.Build{Dir: dir, Env: env}.Do(t)
	faults := func(program string) int64 {
		cmd := exec.Command(program, "16")
		cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return minorFaults(cmd.ProcessState)
	}
	plain, huge := faults(stock), faults(build(ArenaHugePages, ArenaRelease))
	if huge > plain/20 {
		t.Errorf("%d page faults, %d without the patches: want at most 5%%", huge, plain)
	}
}

// A patch that does not fit is refused, and nothing is built.
func TestEditedToolchain(t *testing.T) {
	toolchain, err := FindToolchain(context.Background(), "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(toolchain.Root, strings.TrimSpace(string(cache))+string(filepath.Separator)) {
		t.Skip("the go command refuses overlays of a toolchain in the module cache")
	}
	data, err := toolchain.read("src/runtime/mheap.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	edited := filepath.Join(dir, "mheap.go")
	if err := os.WriteFile(edited, bytes.Replace(data, []byte(`nBase-v, &gcController.heapReleased, "heap")`),
		[]byte(`nBase-v, &gcController.heapReleased, "theheap")`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(mine, []byte(`{"Replace": {"`+toolchain.path("src/runtime/mheap.go")+`": "`+edited+`"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]BuildOptions{
		"flag":    {Flags: []string{"-overlay", mine}},
		"GOFLAGS": {Env: append(os.Environ(), "GOFLAGS=-overlay="+mine)},
	} {
		b.Dir, b.Package, b.Out, b.Patches = "testdata/probe", ".", filepath.Join(dir, "program"), together
		_, err = Build(context.Background(), b)
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Patch != HeapHugePages || refused.File != "src/runtime/mheap.go" ||
			!strings.Contains(err.Error(), toolchain.Version) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(b.Out); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: built all the same: %v", name, err)
		}
	}
}

// Every version of Go that a patch names takes it, and compiles with it, also for
// platforms where it changes nothing. All of them are compiled in CI.
func TestVersions(t *testing.T) {
	var names []string
	for _, p := range Patches() {
		names = append(names, p.Name)
	}
	for _, version := range goversion.SupportOf(goversion.Patches).Releases() {
		env := append(os.Environ(), "GOEXPERIMENT=arenas", "GOTOOLCHAIN="+version)
		if _, err := FindToolchain(context.Background(), "", "", env); err != nil {
			testenv.Missing(t, "%s cannot be had: %v", version, err)
		}
		for i, target := range []string{"linux/amd64", "windows/amd64", "linux/arm64", "darwin/arm64", "linux/386"} {
			goos, goarch, _ := strings.Cut(target, "/")
			if !testenv.Full() && (version != "" || i > 1) { // compiling takes long
				toolchain, err := FindToolchain(context.Background(), "", t.TempDir(), append(env, "GOOS="+goos, "GOARCH="+goarch))
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range Patches() {
					if err := p.Fits(toolchain); err != nil {
						t.Errorf("%s %s: %v", version, target, err)
					}
				}
				continue
			}
			if _, err := Build(context.Background(), BuildOptions{
				Dir: t.TempDir(), // no go.mod that wants a later Go
				Env: append(env, "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"), Flags: []string{"-buildvcs=false"},
				Package: "runtime", Out: os.DevNull, Patches: names,
			}); err != nil {
				t.Errorf("%s %s: %v", version, target, err)
			}
		}
	}
}

func TestBuildErrors(t *testing.T) {
	out := filepath.Join(t.TempDir(), "program")
	if _, err := Build(context.Background(), BuildOptions{Package: "./none", Out: out}); err == nil ||
		!strings.Contains(err.Error(), "go build ./none") || !strings.Contains(err.Error(), "directory not found") {
		t.Error(err)
	}
	if _, err := Build(context.Background(), BuildOptions{Package: ".", Out: out,
		Patches: []string{"none"}}); err == nil || !strings.Contains(err.Error(), `unknown patch "none"`) {
		t.Error(err)
	}
	if _, err := Build(context.Background(), BuildOptions{Go: "no-such-go", Package: ".", Out: out}); err == nil ||
		!strings.Contains(err.Error(), "install Go") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Build(ctx, BuildOptions{Package: ".", Out: out}); err == nil {
		t.Error("built though it was canceled")
	}
}
