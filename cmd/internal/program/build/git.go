package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

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
		return ctx.Err()
	}
	return fmt.Errorf("--rev: %w", err)
}

// open finds the repository.
func (g *git) open(ctx context.Context) (err error) {
	if g.here, err = os.Getwd(); err != nil {
		return err
	}
	if g.prefix, err = g.run(ctx, nil, "rev-parse", "--show-prefix"); err != nil {
		if strings.HasPrefix(err.Error(), "git: not a git repository") {
			return fmt.Errorf("%s is not in a git repository: run folio in that of the program", g.here)
		}
		return err
	}
	g.top, err = g.run(ctx, nil, "rev-parse", "--show-toplevel")
	return err
}

// source finds a revision.
func (g *git) source(ctx context.Context, rev string) (*Revision, error) {
	out := &Revision{Name: rev}
	name := rev
	if rev == workingTree {
		name = "HEAD"
	}
	var err error
	if out.Commit, err = g.run(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}"); err != nil {
		if rev == workingTree {
			return nil, errors.New("the repository has no commit yet")
		}
		return nil, fmt.Errorf("no revision %s in the repository %s: git branch --all and git tag list names", rev, g.top)
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
