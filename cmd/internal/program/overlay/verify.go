package overlay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// verified are the tests of the standard library that look at what the patches change:
// allocation, GC, arenas, stacks, and memory that goes back to the system. The
// others take many minutes, and build programs that are not patched.
const verified = `Malloc|GC|Gc|Arena|Stack|Heap|Scav|Mem|Finaliz|Cleanup|Weak|Alloc|Mmap|HugePage|SizeClass|Pacer|Free|SetGCPercent|Limit`

// starting are those of them that start programs. QEMU's user mode stops for ever in some
// (a fork of a process with threads), and has no way to run a program of another GOARCH
// from within one, so they are left out there.
const starting = `^(TestArenaCollision|TestCgo.*|TestDetectFinalizerAndCleanupLeaks|TestFinalizerOrCleanupDeadlock|TestFinalizerRegisterABI|TestG0StackOverflow|TestGCFairness2?|TestGcSys|TestGcZombieReporting|TestMemHashGlobalSeed|TestMemPprof|TestMemoryLimit.*|TestPhysicalMemoryUtilization|TestPrintGC|TestStackOverflow|TestDebugCall.*|TestWriteHeapDump.*)$`

// crashed is what a runtime says at its end.
var crashed = regexp.MustCompile(`(?m)^(fatal error|panic|runtime): |unexpected signal|SIG[A-Z]+`)

// A Verification is what the tests of the standard library say of patches.
type Verification struct {
	Toolchain               *Toolchain
	Patches                 []*Patch
	Passed, Failed, Skipped []string // as package.Test
	Stock                   []string // fail without the patches too: not their fault
	Unsteady                []string // failed once with the patches, and passed when run again
	Output                  string   // of those that failed
}

// Verify runs the runtime's own tests with patches. The tests of another GOARCH run
// under QEMU's user mode, if that is installed. Progress gets the name of each package
// that begins; nil: it does not.
func Verify(ctx context.Context, g GoCommand, progress io.Writer) (*Verification, error) {
	t, err := FindToolchain(ctx, g.Go, g.Dir, g.Env)
	if err != nil {
		return nil, err
	}
	through, err := emulator(t)
	if err != nil {
		return nil, err
	}
	v := &Verification{Toolchain: t, Patches: g.Patches}
	packages := []string{"runtime", "runtime/debug"}
	if t.experimental("arenas") {
		packages = append(packages, "arena")
	}
	for _, pkg := range packages {
		if progress != nil {
			fmt.Fprintf(progress, "folio: testing %s for %s\n", pkg, t)
		}
		// -vet=off: go vet has its say about the toolchain's own files, not about edits.
		args := append([]string{"test", "-json", "-vet=off", "-short", "-count=1", "-timeout=10m"}, through...)
		run := verified
		if pkg == "arena" {
			run = "."
		}
		g.Args = append(slices.Clone(args), "-run", run, pkg)
		_, patched, err := g.Prepare(ctx)
		if err != nil {
			return nil, err
		}
		got, err := tests(ctx, patched)
		if err != nil {
			return nil, err
		}
		v.add(pkg, got)
		failed := got.names("fail")
		if len(failed) == 0 {
			continue
		}
		// Does it fail by itself, here? Containers and emulators break some tests, and
		// some of the runtime's go by the clock, which a busy machine breaks now and then.
		only := append(slices.Clone(args), "-run", "^("+strings.Join(quoted(failed), "|")+")$", pkg)
		stock := patched
		stock.Args = only
		alone, err := tests(ctx, stock)
		if err != nil {
			return nil, err
		}
		v.move(pkg, alone.names("fail"), &v.Stock)
		if len(v.Failed) == 0 || crashed.MatchString(got.output) {
			continue // a runtime that crashes now and then is not unsteady but broken
		}
		g.Args = only
		if _, patched, err = g.Prepare(ctx); err != nil {
			return nil, err
		}
		again, err := tests(ctx, patched)
		if err != nil {
			return nil, err
		}
		v.move(pkg, again.names("pass"), &v.Unsteady)
	}
	if len(v.Passed) == 0 {
		return nil, errors.New("no test of the standard library passed: " + strings.TrimSpace(v.Output))
	}
	return v, nil
}

// move takes tests out of those that failed.
func (v *Verification) move(pkg string, names []string, to *[]string) {
	for _, name := range names {
		name = pkg + "." + name
		if i := slices.Index(v.Failed, name); i >= 0 {
			v.Failed = slices.Delete(v.Failed, i, i+1)
			*to = append(*to, name)
		}
	}
}

func (v *Verification) add(pkg string, got *results) {
	for word, list := range map[string]*[]string{"pass": &v.Passed, "fail": &v.Failed, "skip": &v.Skipped} {
		for _, name := range got.names(word) {
			*list = append(*list, pkg+"."+name)
		}
	}
	v.Output += got.output
}

// emulator returns the flags of go test that run programs of the toolchain's GOARCH.
func emulator(t *Toolchain) ([]string, error) {
	switch {
	case t.OS != runtime.GOOS:
		return nil, fmt.Errorf("programs for %s cannot be tested on %s: verify there", t.OS, runtime.GOOS)
	case t.Arch == runtime.GOARCH:
		return nil, nil
	}
	machine := map[string]string{"arm64": "aarch64", "amd64": "x86_64", "riscv64": "riscv64", "ppc64le": "ppc64le",
		"s390x": "s390x", "loong64": "loongarch64", "arm": "arm", "386": "i386"}[t.Arch]
	for _, name := range []string{"qemu-" + machine, "qemu-" + machine + "-static"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{"-exec=" + path, "-skip=" + starting}, nil
		}
	}
	return nil, fmt.Errorf("programs for %s can be tested under QEMU only, and there is no qemu-%s: install it (Debian, Ubuntu: apt-get install qemu-user)", t.Arch, machine)
}

// results are what tests of one package said.
type results struct {
	what   map[string]string // by test: pass, fail, skip
	output string            // of those that failed
}

func (r *results) names(what string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.what)) {
		if r.what[name] == what {
			out = append(out, name)
		}
	}
	return out
}

// tests runs go test -json. That tests fail is not an error; that they cannot be built is.
func tests(ctx context.Context, call Call) (*results, error) {
	cmd := call.Cmd(context.Background()) // runGroup ends it
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	runErr := runGroup(ctx, cmd)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r, begun, err := readEvents(&out)
	if err != nil {
		return nil, fmt.Errorf("go test: %w", err)
	}
	if runErr != nil && !begun {
		return nil, fmt.Errorf("go test: %w: %s", runErr, strings.TrimSpace(said.String()+r.output))
	}
	return r, nil
}

// readEvents reads what go test -json prints: see go doc test2json.
func readEvents(from io.Reader) (r *results, begun bool, err error) {
	r = &results{what: make(map[string]string)}
	said := make(map[string]string)
	for d := json.NewDecoder(from); ; {
		var e struct{ Action, Test, Output string }
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, false, err
		}
		top, sub, _ := strings.Cut(e.Test, "/")
		switch e.Action {
		case "output", "build-output":
			said[top] += e.Output
		case "run":
			begun = true
			if sub == "" {
				r.what[top] = "fail" // until it is said to have ended
			}
		case "pass", "fail", "skip":
			if top != "" && sub == "" {
				r.what[top] = e.Action
			}
			if e.Action == "fail" && sub == "" {
				r.output += said[top]
			}
		}
	}
	return r, begun, nil
}

func quoted(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = regexp.QuoteMeta(n)
	}
	return out
}
