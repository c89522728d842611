package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
)

// Revisions are what --rev builds and runs.
type Revisions struct {
	Source
	Names []string
}

// A Revision is a program at a revision of a git repository.
type Revision struct {
	Name   string // as it was named
	Commit string // of a working tree: the one that is checked out
	Dirty  bool   // with changes that are in no commit

	Dir           string   // in which it runs: that of the package for a test; "": the current one
	Command, Show []string // what is run, and what is shown of it
}

// Built are the programs of revisions. Their files are there until Remove.
type Built struct {
	Revisions []Revision
	Notes     []string
	scratch   *scratch.Dir
}

// Remove removes the programs.
func (r *Built) Remove() error {
	if r == nil {
		return nil
	}
	return r.scratch.Remove()
}

// ParseRevisions reads --rev, and what follows the flags: a package with the arguments
// of its program, or go test. dashed says that -- came first.
func ParseRevisions(revs, args []string, dashed bool) (*Revisions, error) {
	out := &Revisions{}
	for _, rev := range revs {
		if rev = strings.TrimSpace(rev); rev == "" || strings.HasPrefix(rev, "-") {
			return nil, usage.Errorf("--rev %s: %q is not a revision: give names such as main,HEAD", strings.Join(revs, ","), rev)
		}
		out.Names = append(out.Names, rev)
	}
	switch {
	case len(out.Names) < 2:
		return nil, usage.Errorf("--rev %s: want two revisions or more, such as main,HEAD; . is the working tree", strings.Join(revs, ","))
	case len(args) > 1 && args[0] == "go" && args[1] == "test":
		src, err := GoTest(args[2:])
		if err != nil {
			return nil, err
		}
		out.Source = *src
		return out, nil
	case len(args) == 0 || dashed:
		return nil, usage.Errorf("--rev: no package given: folio ab --rev main,HEAD ./cmd/prog -- args, or -- go test -bench Name ./pkg")
	case args[0] == "" || strings.HasPrefix(args[0], "-"):
		return nil, usage.Errorf("--rev: %q is not a package: folio ab --rev main,HEAD ./cmd/prog -- args", args[0])
	case len(args) > 1 && args[1] != "--":
		return nil, usage.Errorf("--rev: %q follows the package: arguments of the program go after --", args[1])
	}
	out.Package = args[0]
	if len(args) > 2 {
		out.Args = args[2:]
	}
	return out, nil
}

// Flags of go test: those that the test binary takes, and those of the build.
var (
	testValues  = words("bench benchtime count cpu run skip timeout parallel shuffle")
	testBools   = words("v short benchmem failfast")
	buildValues = words("tags gcflags ldflags asmflags mod modfile overlay pgo p vet installsuffix")
	buildBools  = words("race msan asan a trimpath x n modcacherw cover")
)

func words(s string) map[string]bool {
	out := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// GoTest reads the arguments of go test.
func GoTest(args []string) (*Source, error) {
	r := &Source{Test: true}
	var bench, run bool
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "-args" || arg == "--args" {
			r.Args = append(r.Args, args...)
			break
		}
		if !strings.HasPrefix(arg, "-") {
			if r.Package != "" {
				return nil, usage.Errorf("go test of %s and %s: want one package", r.Package, arg)
			}
			r.Package = arg
			continue
		}
		name, value, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		name = strings.TrimPrefix(name, "test.")
		if (testValues[name] || buildValues[name]) && !has {
			if len(args) == 0 {
				return nil, usage.Errorf("go test: -%s needs a value", name)
			}
			value, has, args = args[0], true, args[1:]
		}
		if has {
			value = "=" + value
		}
		switch {
		case testValues[name] || testBools[name]:
			r.Args = append(r.Args, "-test."+name+value)
		case buildValues[name] || buildBools[name]:
			r.With = append(r.With, "-"+name+value)
		default:
			return nil, usage.Errorf("go test: -%s is not supported; put flags of the test itself after -args", name)
		}
		bench, run = bench || name == "bench", run || name == "run"
	}
	switch {
	case !bench:
		return nil, usage.Errorf("go test without -bench measures nothing: folio ab --rev main,HEAD -- go test -bench Name ./pkg")
	case strings.Contains(r.Package, "..."):
		return nil, usage.Errorf("go test of %s: want one package", r.Package)
	case r.Package == "":
		r.Package = "."
	}
	if !run {
		r.Args = append([]string{"-test.run=^$"}, r.Args...) // the tests are not what is compared
	}
	return r, nil
}

// Build builds the package at each revision. The trees are checked out without
// registering them with git: whatever ends folio, even a kill, leaves no worktree in the
// repository.
func (r *Revisions) Build(ctx context.Context, b Builder) (_ *Built, err error) {
	toolchain, err := overlay.FindToolchain(ctx, "", "", nil)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("--rev: %w", err)
	case toolchain.OS != runtime.GOOS || toolchain.Arch != runtime.GOARCH:
		return nil, fmt.Errorf("--rev: go builds for %s/%s, and the program is to run here, on %s/%s: unset GOOS and GOARCH",
			toolchain.OS, toolchain.Arch, runtime.GOOS, runtime.GOARCH)
	}
	g := &git{}
	if err := g.open(ctx); err != nil {
		return nil, g.err(ctx, err)
	}
	out := &Built{}
	for _, rev := range r.Names { // all of them before the first build
		src, err := g.source(ctx, rev)
		if err != nil {
			return nil, g.err(ctx, err)
		}
		out.Revisions = append(out.Revisions, *src)
	}
	if note := g.forgotten(ctx, r.Names); note != "" {
		out.Notes = append(out.Notes, note)
	}
	if out.scratch, err = scratch.New(toolchain.Temp); err != nil {
		return nil, fmt.Errorf("--rev: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Remove())
		}
	}()
	defer b.Progress("")
	for i := range out.Revisions {
		rev := &out.Revisions[i]
		b.Progress("building " + r.Package + " at " + rev.Name)
		if err := r.build(ctx, b, g, rev, filepath.Join(out.scratch.Path, strconv.Itoa(i))); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("--rev %s: %w", rev.Name, err)
		}
	}
	return out, nil
}

// build builds one of them. All paths are of one length: a program's speed can
// depend on that of its name.
func (r *Revisions) build(ctx context.Context, b Builder, g *git, rev *Revision, at string) error {
	tree, bin, work := filepath.Join(at, "tree"), filepath.Join(at, "bin"), filepath.Join(at, "work")
	for _, dir := range []string{at, tree, bin, work} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	dir := g.here
	if rev.Name != workingTree {
		if err := g.checkOut(ctx, rev.Commit, tree, filepath.Join(at, "index")); err != nil {
			return err
		}
		dir = filepath.Join(tree, g.prefix)
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("it has no directory %s", g.prefix)
		}
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", bin + string(filepath.Separator)}
	if r.Test {
		args = []string{"test", "-c", "-o", filepath.Join(bin, "bench.test")}
	}
	args = append(append(args, r.With...), r.Package)
	call := overlay.Call{Path: "go", Args: args, Dir: dir, Set: []string{"GOTMPDIR=" + work, "PWD=" + dir}}
	if said, err := b.Run(ctx, call); err != nil {
		b.Progress("")
		_, _ = b.Stderr.Write([]byte(said))
		return err
	}
	file, err := only(bin)
	if err != nil {
		if r.Test {
			err = fmt.Errorf("%s has no tests", r.Package)
		}
		return err
	}
	rev.Command = append([]string{file}, r.Args...)
	rev.Show = append([]string{filepath.Base(file)}, r.Args...)
	if r.Test { // it runs where go test runs it
		if rev.Dir, err = PackageDir(ctx, dir, r.Package); err != nil {
			return err
		}
		rev.Show = append([]string{"go", "test"}, append(r.With, rev.Show[1:]...)...)
		rev.Show = append(rev.Show, r.Package)
		return nil
	}
	return errors.Join(os.RemoveAll(tree), os.RemoveAll(work))
}

// PackageDir returns the directory of a package that is named in dir.
func PackageDir(ctx context.Context, dir, pkg string) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-find", "-f", "{{.Dir}}", pkg)
	list.Dir, list.Env = dir, append(os.Environ(), "PWD="+dir)
	text, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("go list %s: %w", pkg, err)
	}
	return strings.TrimSpace(string(text)), nil
}
