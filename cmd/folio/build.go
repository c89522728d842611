package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/internal/base/unit"
)

const buildLong = `Build a program with patches of Go's runtime, without a fork: nothing of the
toolchain is changed, and a build without folio is as it was. 'folio patches'
says what the patches do, which of them fit your Go, and what was measured.

It is 'go build' with one flag more, and works where that works: -o, -race,
-tags, GOOS and GOARCH, vendored modules, an -overlay of your own. 'folio go
test', 'folio go run', 'folio go install' (and vet, list) do the same for these.
The first build with a set of patches compiles the standard library anew, which
takes about as long as 'go build -a'; later ones find it in Go's build cache.

A patch that does not fit your Go to the letter is refused, and nothing is
built. A program says itself what was patched in it: 'folio patches --of FILE'.

  --patch a,b   the patches; may stand several times. Default: heap-hugepages
  --verify      first run the runtime's own tests of allocation, GC,
                arenas and stacks with the patches, and build only if they pass;
                without packages only test. Another GOARCH is tested under QEMU
                (qemu-user). Takes one to three minutes

Exit codes: those of go; 1 a patch does not fit, or a test fails with it; 2
wrong use.`

func newBuild(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "build [--patch a,b] [--verify] [flags of go build] [packages]",
		Short: "Build a program with patches of Go's runtime",
		Long:  buildLong,
		Example: `  folio build ./cmd/server
  folio build --patch heap-hugepages,heap-minimum -o server ./cmd/server
  folio build --patch heap-hugepages,gc-noassist -o server ./cmd/server
  GOARCH=arm64 folio build --patch malloc-prefetch -trimpath ./cmd/server
  GOEXPERIMENT=arenas folio build --patch arena-hugepages,arena-release .
  folio build --verify`,
		DisableFlagParsing: true, // they are go build's
		RunE: func(cmd *cobra.Command, args []string) error {
			if asksHelp(args, false) {
				return cmd.Help()
			}
			args, verify := takeVerify(args)
			g, err := patched(append([]string{"build"}, args...))
			if err != nil {
				return err
			}
			if verify {
				if err := a.verify(cmd.Context(), g); err != nil || len(g.Args) == 1 {
					return err
				}
			}
			return a.goCommand(cmd.Context(), g)
		},
	}
}

func newGo(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "go build|install|run|test|vet|list [--patch a,b] [flags] [packages]",
		Short: "Run a go command with patches of Go's runtime",
		Long: `Run a command of go that builds, with patches of Go's runtime: see
'folio build --help'. All flags but --patch are go's.`,
		Example: `  folio go test ./...
  folio go run --patch heap-minimum . -port 8080`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || asksHelp(args, args[0] == "run") {
				return cmd.Help()
			}
			g, err := patched(args)
			if err != nil {
				return err
			}
			return a.goCommand(cmd.Context(), g)
		},
	}
}

// asksHelp reports whether a flag asks for help of folio. The program of go run has
// its own.
func asksHelp(args []string, run bool) bool {
	if run && len(args) > 1 {
		args = args[:2]
	}
	return slices.ContainsFunc(args, func(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" })
}

func takeVerify(args []string) (rest []string, verify bool) {
	rest = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--verify" || arg == "-verify" })
	return rest, len(rest) < len(args)
}

// patched reads --patch out of a command of go.
func patched(args []string) (overlay.GoCommand, error) {
	if err := overlay.CheckCommand(args[0]); err != nil {
		return overlay.GoCommand{}, misuse(err)
	}
	values, rest, err := overlay.TakeFlag(args[1:], "patch", args[0] == "run")
	if err != nil {
		return overlay.GoCommand{}, misuse(err)
	}
	rest = append([]string{args[0]}, rest...)
	var names []string
	for _, name := range strings.Split(strings.Join(values, ","), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	patches := overlay.Default()
	if len(names) > 0 {
		if patches, err = overlay.Lookup(names...); err != nil {
			return overlay.GoCommand{}, misusef("--patch: %w", err)
		}
	} else if len(values) > 0 {
		return overlay.GoCommand{}, misusef("--patch: want names, comma-separated: see 'folio patches'")
	}
	return overlay.GoCommand{Patches: patches, Args: rest}, nil
}

// filesOf says what an overlay changes.
func filesOf(o *overlay.Overlay) string {
	text := fmt.Sprintf("%s of the standard library patched", unit.Plural(len(o.Patched), "file"))
	if n := len(o.Added); n > 0 {
		text += fmt.Sprintf(", %d added", n)
	}
	return text
}

// verify runs the runtime's tests with patches.
func (a *app) verify(ctx context.Context, g overlay.GoCommand) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	var w workplace
	g.Temp = w.make
	v, err := overlay.Verify(ctx, g, a.stderr)
	left := w.remove()
	if ctx.Err() != nil {
		return errors.Join(exitCode(exitInterrupted), left)
	} else if err = errors.Join(err, left); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	names := overlay.Names(v.Patches)
	_ = a.stdout.Line("%s with %s: %s of the standard library passed, %d skipped themselves, %d failed",
		v.Toolchain, names, unit.Plural(len(v.Passed), "test"), len(v.Skipped), len(v.Failed))
	if len(v.Stock) > 0 {
		_ = a.stdout.Line("failed here without the patches too: %s", strings.Join(v.Stock, ", "))
	}
	if len(v.Unsteady) > 0 {
		_ = a.stdout.Line("%s failed once and passed when run again: %s", unit.Plural(len(v.Unsteady), "more test"),
			strings.Join(v.Unsteady, ", "))
	}
	if len(v.Failed) == 0 {
		return nil
	}
	if _, err := io.WriteString(a.stderr, v.Output); err != nil {
		return err
	}
	return fmt.Errorf("verify: with %s %s: do not build with it, and tell us", names, "these tests fail: "+strings.Join(v.Failed, ", "))
}
