package overlay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// BuildOptions say what [Build] builds.
type BuildOptions struct {
	Go      string                            // the go command; default: go of PATH
	Dir     string                            // where it runs; default: the current directory
	Env     []string                          // default: folio's own
	Flags   []string                          // of go build
	Package string                            // or .go files
	Out     string                            // the program; required
	Patches []string                          // names; default: those of Default
	Temp    func(base string) (string, error) // as in GoCommand
}

// Build builds a program with patches. An error of the go command holds what it said.
func Build(ctx context.Context, b BuildOptions) (*Overlay, error) {
	patches, err := Lookup(b.Patches...)
	if err != nil {
		return nil, err
	}
	if len(b.Patches) == 0 {
		patches = Default()
	}
	args := slices.Concat([]string{"build"}, b.Flags, []string{"-o", b.Out}, strings.Fields(b.Package))
	o, call, err := GoCommand{Go: b.Go, Dir: b.Dir, Env: b.Env, Patches: patches, Args: args, Temp: b.Temp}.Prepare(ctx)
	if err != nil {
		return nil, err
	}
	cmd := call.Cmd(context.Background()) // runGroup ends it, with its compilers
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := runGroup(ctx, cmd); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if text := strings.TrimSpace(said.String()); text != "" {
			err = errors.New(text)
		}
		return nil, fmt.Errorf("go build %s: %w", b.Package, err)
	}
	return o, nil
}
