package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/base/scratch"
	"github.com/foliomem/folio/internal/program/overlay"
	"github.com/foliomem/folio/internal/result"
)

// revisionArgs are what --rev builds and runs.
type revisionArgs struct {
	revs []string
	pkg  string
	test bool
	args []string // of the program
	with []string // flags of the build
}

// revisions are the builds of --rev. They are there until remove.
type revisions struct {
	scratch *scratch.Dir
	notes   []string
}

func (r *revisions) remove() error {
	if r == nil {
		return nil
	}
	return r.scratch.Remove()
}

// parseRevisions reads --rev, and what follows the flags: a package with the arguments
// of its program, or go test. dashed says that -- came first.
func parseRevisions(revs, args []string, dashed bool) (*revisionArgs, error) {
	out := &revisionArgs{}
	for _, rev := range revs {
		if rev = strings.TrimSpace(rev); rev == "" || strings.HasPrefix(rev, "-") {
			return nil, misusef("--rev %s: %q is not a revision: want such as main,HEAD", strings.Join(revs, ","), rev)
		}
		out.revs = append(out.revs, rev)
	}
	switch {
	case len(out.revs) < 2:
		return nil, misusef("--rev %s: want two revisions or more, such as main,HEAD; . is the working tree", strings.Join(revs, ","))
	case len(args) > 1 && args[0] == "go" && args[1] == "test":
		return out, out.goTest(args[2:])
	case len(args) == 0 || dashed:
		return nil, misusef("--rev: no package given: folio ab --rev main,HEAD ./cmd/prog -- args, or -- go test -bench Name ./pkg")
	case args[0] == "" || strings.HasPrefix(args[0], "-"):
		return nil, misusef("--rev: %q is not a package: folio ab --rev main,HEAD ./cmd/prog -- args", args[0])
	case len(args) > 1 && args[1] != "--":
		return nil, misusef("--rev: %q follows the package: arguments of the program go after --", args[1])
	}
	out.pkg = args[0]
	if len(args) > 2 {
		out.args = args[2:]
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

// goTest reads the arguments of go test.
func (r *revisionArgs) goTest(args []string) error {
	r.test = true
	var bench, run bool
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "-args" || arg == "--args" {
			r.args = append(r.args, args...)
			break
		}
		if !strings.HasPrefix(arg, "-") {
			if r.pkg != "" {
				return misusef("go test of %s and %s: want one package", r.pkg, arg)
			}
			r.pkg = arg
			continue
		}
		name, value, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		name = strings.TrimPrefix(name, "test.")
		if (testValues[name] || buildValues[name]) && !has {
			if len(args) == 0 {
				return misusef("go test: -%s needs a value", name)
			}
			value, has, args = args[0], true, args[1:]
		}
		if has {
			value = "=" + value
		}
		switch {
		case testValues[name] || testBools[name]:
			r.args = append(r.args, "-test."+name+value)
		case buildValues[name] || buildBools[name]:
			r.with = append(r.with, "-"+name+value)
		default:
			return misusef("go test: -%s is not supported; put flags of the test itself after -args", name)
		}
		bench, run = bench || name == "bench", run || name == "run"
	}
	switch {
	case !bench:
		return misusef("go test without -bench measures nothing: folio ab --rev main,HEAD -- go test -bench Name ./pkg")
	case strings.Contains(r.pkg, "..."):
		return misusef("go test of %s: want one package", r.pkg)
	case r.pkg == "":
		r.pkg = "."
	}
	if !run {
		r.args = append([]string{"-test.run=^$"}, r.args...) // the tests are not what is compared
	}
	return nil
}

// buildRevisions builds the package at each revision. The trees are checked out without
// registering them with git: whatever ends folio, even a kill, leaves no worktree in the
// repository.
func (a *app) buildRevisions(ctx context.Context, r *revisionArgs) (_ *revisions, arms []abArm, err error) {
	toolchain, err := overlay.FindToolchain(ctx, "", "", nil)
	switch {
	case ctx.Err() != nil:
		return nil, nil, errNothing
	case err != nil:
		return nil, nil, fmt.Errorf("--rev: %w", err)
	case toolchain.OS != runtime.GOOS || toolchain.Arch != runtime.GOARCH:
		return nil, nil, fmt.Errorf("--rev: go builds for %s/%s, and the program is to run here, on %s/%s: unset GOOS and GOARCH",
			toolchain.OS, toolchain.Arch, runtime.GOOS, runtime.GOARCH)
	}
	g := &git{}
	if err := g.open(ctx); err != nil {
		return nil, nil, g.err(ctx, err)
	}
	var sources []*result.Source
	for _, rev := range r.revs { // all of them before the first build
		src, err := g.source(ctx, rev)
		if err != nil {
			return nil, nil, g.err(ctx, err)
		}
		src.Package, src.Test = r.pkg, r.test
		sources = append(sources, src)
	}
	out := &revisions{}
	if note := g.forgotten(ctx, r.revs); note != "" {
		out.notes = append(out.notes, note)
	}
	if out.scratch, err = scratch.New(toolchain.Temp); err != nil {
		return nil, nil, fmt.Errorf("--rev: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.remove())
		}
	}()
	progress := newProgress(a.stderr)
	defer progress.clear()
	for i, src := range sources {
		progress.line("building " + r.pkg + " at " + src.Revision)
		arm, err := a.buildRevision(ctx, g, r, src, out.scratch.Path, i, progress)
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, errNothing
			}
			return nil, nil, fmt.Errorf("--rev %s: %w", src.Revision, err)
		}
		arms = append(arms, arm)
	}
	names := make(map[string]int)
	for i := range arms {
		if names[arms[i].name]++; names[arms[i].name] > 1 {
			arms[i].name += fmt.Sprintf(" (%d)", names[arms[i].name])
		}
	}
	return out, arms, nil
}

// buildRevision builds one of them. All paths are of one length: a program's speed can
// depend on that of its name.
func (a *app) buildRevision(ctx context.Context, g *git, r *revisionArgs, src *result.Source, base string, i int,
	p *progress) (abArm, error) {
	arm := abArm{name: src.Revision, source: src}
	at := filepath.Join(base, strconv.Itoa(i))
	tree, bin, work := filepath.Join(at, "tree"), filepath.Join(at, "bin"), filepath.Join(at, "work")
	for _, dir := range []string{at, tree, bin, work} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return arm, err
		}
	}
	dir := g.here
	if src.Revision != workingTree {
		if err := g.checkOut(ctx, src.Commit, tree, filepath.Join(at, "index")); err != nil {
			return arm, err
		}
		dir = filepath.Join(tree, g.prefix)
		if _, err := os.Stat(dir); err != nil {
			return arm, fmt.Errorf("it has no directory %s", g.prefix)
		}
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", bin + string(filepath.Separator)}
	if r.test {
		args = []string{"test", "-c", "-o", filepath.Join(bin, "bench.test")}
	}
	args = append(append(args, r.with...), r.pkg)
	call := overlay.Call{Path: "go", Args: args, Dir: dir, Set: []string{"GOTMPDIR=" + work, "PWD=" + dir}}
	if said, err := a.runGo(ctx, call); err != nil {
		p.clear()
		_, _ = a.stderr.Write([]byte(said))
		return arm, err
	}
	file, err := only(bin)
	if err != nil {
		if r.test {
			err = fmt.Errorf("%s has no tests", r.pkg)
		}
		return arm, err
	}
	arm.command = append([]string{file}, r.args...)
	arm.show = append([]string{filepath.Base(file)}, r.args...)
	if r.test { // it runs where go test runs it
		if arm.dir, err = packageDir(ctx, dir, r.pkg); err != nil {
			return arm, err
		}
		arm.show = append([]string{"go", "test"}, append(r.with, arm.show[1:]...)...)
		arm.show = append(arm.show, r.pkg)
		return arm, nil
	}
	return arm, errors.Join(os.RemoveAll(tree), os.RemoveAll(work))
}

// packageDir returns the directory of a package that is named in dir.
func packageDir(ctx context.Context, dir, pkg string) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-find", "-f", "{{.Dir}}", pkg)
	list.Dir, list.Env = dir, append(os.Environ(), "PWD="+dir)
	text, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("go list %s: %w", pkg, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// workingTree names the working tree as a revision.
const workingTree = "."

// A git is the repository of the current directory.
type git struct{ here, top, prefix string }

func (g *git) run(ctx context.Context, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = g.top
	var out, said bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), &out, &said
	if err := cmd.Run(); err != nil {
		text, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		if text = strings.TrimPrefix(text, "fatal: "); text == "" {
			text = err.Error()
		}
		return "", errors.New("git: " + text)
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// err is an error of git, unless a signal ended it.
func (g *git) err(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errNothing
	}
	return fmt.Errorf("--rev: %w", err)
}

// open finds the repository.
func (g *git) open(ctx context.Context) (err error) {
	if g.here, err = os.Getwd(); err != nil {
		return err
	}
	if g.prefix, err = g.run(ctx, nil, "rev-parse", "--show-prefix"); err != nil {
		return err
	}
	g.top, err = g.run(ctx, nil, "rev-parse", "--show-toplevel")
	return err
}

// source finds a revision.
func (g *git) source(ctx context.Context, rev string) (*result.Source, error) {
	out := &result.Source{Revision: rev}
	name := rev
	if rev == workingTree {
		name = "HEAD"
	}
	var err error
	if out.Commit, err = g.run(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}"); err != nil {
		if rev == workingTree {
			return nil, errors.New("the repository has no commit yet")
		}
		return nil, fmt.Errorf("no revision %s in the repository %s", rev, g.top)
	}
	if rev == workingTree {
		out.Dirty, err = g.dirty(ctx)
	}
	return out, err
}

func (g *git) dirty(ctx context.Context) (bool, error) {
	text, err := g.run(ctx, nil, "status", "--porcelain")
	return text != "", err
}

// forgotten says that the working tree has changes that none of the revisions has.
func (g *git) forgotten(ctx context.Context, revs []string) string {
	head := false
	for _, r := range revs {
		if r == workingTree {
			return ""
		}
		head = head || r == "HEAD"
	}
	if dirty, err := g.dirty(ctx); err != nil || !dirty || !head {
		return ""
	}
	return "the working tree has changes that are not in HEAD, and so were not measured: --rev HEAD,. compares them"
}

// checkOut writes the files of a commit to a directory, by an index of its own.
func (g *git) checkOut(ctx context.Context, commit, dir, index string) error {
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := g.run(ctx, env, "read-tree", commit); err != nil {
		return err
	}
	_, err := g.run(ctx, env, "checkout-index", "--all", "--force", "--prefix="+dir+"/")
	return err
}
