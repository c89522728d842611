package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/internal/base/console"
)

// A Builder runs the go command, and says how far it is.
type Builder struct {
	// Run runs the go command: none of its compilers is left when it ends, whatever ends
	// it. If it fails, said is what it said.
	Run func(ctx context.Context, call overlay.Call) (said string, err error)
	// Progress shows a line until the next; "" takes it away.
	Progress func(text string)
	Stderr   *console.Printer
}

// A Source is what a program is built from.
type Source struct {
	Package string   // or .go files, separated by spaces
	Test    bool     // the program is the test of the package
	Args    []string // of the program
	With    []string // flags of go test that are the build's
}

// A Recipe says how to build a source.
type Recipe struct {
	root    string   // GOROOT of the toolchain; "": the one that the environment and go.mod choose
	set     []string // variables of the build
	flags   []string // of go build
	patches []string // of the standard library
	// stock builds without patches where they do not fit the toolchain.
	stock bool
}

// A Program is one that folio built itself. Its file is there until Remove.
type Program struct {
	File string
	Dir  string // in which it runs: that of the package for a test; "": the current one
	Source
	with *overlay.Overlay // nil where nothing is patched

	scratch *scratch.Dir
}

// Patched says whether the program can have its heap on huge pages by the patch.
func (b *Program) Patched() bool {
	return b.with != nil && slices.ContainsFunc(b.with.Patches, func(p *overlay.Patch) bool { return p.Name == overlay.HeapHugePages })
}

// Build builds a source with the patch heap-hugepages, by default as go build does by itself.
func (g *Builder) Build(ctx context.Context, src Source, how *Recipe) (_ *Program, err error) {
	toolchain, err := overlay.FindToolchain(ctx, "", "", nil)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		return nil, fmt.Errorf("--build %s: %w", src.Package, newerGo(err))
	}
	if toolchain.OS != runtime.GOOS || toolchain.Arch != runtime.GOARCH {
		return nil, fmt.Errorf("--build %s: go builds for %s/%s, and the program is to run here, on %s/%s: unset GOOS and GOARCH",
			src.Package, toolchain.OS, toolchain.Arch, runtime.GOOS, runtime.GOARCH)
	}
	dir, err := scratch.New(toolchain.Temp)
	if err != nil {
		return nil, fmt.Errorf("--build %s: %w", src.Package, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Remove())
		}
	}()
	defer g.Progress("")
	g.Progress("building " + src.Package + " with " + overlay.HeapHugePages + " (the first time with the standard library, about a minute)")
	if how == nil {
		how = &Recipe{patches: []string{overlay.HeapHugePages}}
	}
	b, said, err := g.compile(ctx, filepath.Join(dir.Path, "00"), src, *how)
	if err != nil {
		g.Progress("")
		if why, known := whyNot(said, err); known {
			err = errors.New(why)
		} else if said != "" {
			_, _ = g.Stderr.Write([]byte(said))
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("--build %s: %w", src.Package, err)
	}
	if b.with != nil && b.with.Note != "" {
		g.Progress("")
		_ = g.Stderr.Line("folio: note: --build %s: %s", src.Package, b.with.Note)
	}
	b.scratch = dir
	return b, nil
}

// compile builds a source in a directory, which it makes. said is what the go command said
// where it failed.
func (g *Builder) compile(ctx context.Context, dir string, src Source, how Recipe) (_ *Program, said string, err error) {
	work, bin := filepath.Join(dir, "work"), filepath.Join(dir, "bin")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(work, 0o700), os.Mkdir(bin, 0o700)); err != nil {
		return nil, "", err
	}
	patches, err := overlay.Lookup(how.patches...)
	if err != nil {
		return nil, "", err
	}
	// With a directory, the program keeps the name that go gives it, and a package that is not a
	// main package leaves no archive.
	args := []string{"build", "-o", bin + string(filepath.Separator)}
	if src.Test {
		args = []string{"test", "-c", "-o", filepath.Join(bin, "bench.test")}
	}
	args = slices.Concat(args, src.With, how.flags, strings.Fields(src.Package))
	command := overlay.GoCommand{Go: "go", Patches: patches, Args: args, Temp: func(string) (string, error) { return work, nil }}
	if how.root != "" {
		command.Go = filepath.Join(how.root, "bin", "go")
	}
	command.Env = append(os.Environ(), how.set...)
	b := &Program{Source: src}
	var call overlay.Call
	var refused *overlay.RefusedError
	b.with, call, err = command.Prepare(ctx)
	if errors.As(err, &refused) && how.stock {
		b.with, call, err = nil, overlay.Call{Path: command.Go, Args: args, Set: []string{"GOTMPDIR=" + work}}, nil
	}
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	} else if err != nil {
		return nil, "", err
	}
	call.Set = slices.Concat(how.set, call.Set)
	if said, err = g.Run(ctx, call); err != nil {
		return nil, said, err
	}
	if b.File, err = only(bin); err != nil {
		if src.Test {
			err = fmt.Errorf("%s has no tests", src.Package)
		}
		return nil, "", err
	}
	return b, "", os.RemoveAll(work)
}

// only returns the one file in a directory.
func only(dir string) (string, error) {
	files, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return "", err
	case len(files) == 0:
		return "", errors.New("not a main package")
	case len(files) > 1:
		return "", fmt.Errorf("it means %d programs, %s and %s among them: want one", len(files), files[0].Name(), files[1].Name())
	}
	return filepath.Join(dir, files[0].Name()), nil
}

// Command returns the command line that runs the program, and the one that is shown,
// with its name for its path.
func (b *Program) Command(args []string) (run, show []string) {
	if b.Test {
		return append([]string{b.File}, b.Args...), slices.Concat([]string{"go", "test"}, b.With, b.Args, []string{b.Package})
	}
	return append([]string{b.File}, args...), append([]string{filepath.Base(b.File)}, args...)
}

// Patches returns the patches in the program, as name@hash.
func (b *Program) Patches() []string {
	if b.with == nil {
		return []string{}
	}
	return b.with.Record.List()
}

// PatchesIn returns the patches of Go's runtime that a program has which was built before,
// as name@hash; nil where that cannot be read.
func PatchesIn(program string) []string {
	file, err := exec.LookPath(program)
	if err != nil {
		return nil
	}
	r, err := overlay.ReadFile(file)
	if err != nil || r == nil {
		return nil
	}
	return r.List()
}

// Remove removes the program.
func (b *Program) Remove() error {
	if b == nil {
		return nil
	}
	return b.scratch.Remove()
}
