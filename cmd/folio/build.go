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

const buildLong = `Build a program with patches of Go's runtime. The toolchain is not modified. 'folio
patches' lists the patches, which of them fit your Go, and what was measured.

It takes all flags of 'go build': -o, -race, -tags, an -overlay of your own, and
supports GOOS, GOARCH and vendored modules. 'folio go test', 'folio go run' and 'folio
go install' (and vet, list) do the same for these. The first build with a set of
patches compiles the standard library again, which takes about as long as 'go build
-a'; later ones find it in Go's build cache.

A patch that does not match the source of your Go exactly is refused, and nothing is
built. List the patches in a program: folio patches --of FILE.

Exit codes: those of go; 1 a patch does not fit, or a test fails with it; 2 wrong usage.`

func newBuild(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "build [--patch a,b] [--verify] [go build flags] [packages]",
		Short: "Build a program with patches of Go's runtime",
		Long:  buildLong,
		Example: `  folio build ./cmd/server
  folio build --patch heap-hugepages,heap-minimum -o server ./cmd/server
  folio build --patch heap-hugepages,gc-noassist -o server ./cmd/server
  GOARCH=arm64 folio build --patch malloc-prefetch -trimpath ./cmd/server
  GOEXPERIMENT=arenas folio build --patch arena-hugepages,arena-release .
  folio build --verify`,
		DisableFlagParsing:    true, // they are go build's; help lists folio's
		DisableFlagsInUseLine: true,
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
	cmd.Flags().StringSlice("patch", nil, patchText)
	cmd.Flags().Bool("verify", false, "first run the runtime's tests of allocation, GC, arenas and stacks with the patches (1 to 3 minutes; another GOARCH with qemu-user); build only if they pass; without packages, only test")
	return cmd
}

const patchText = "apply these `patches` (repeatable, or with commas; default heap-hugepages)"

func newGo(a *app) *cobra.Command {
	cmd := &cobra.Command{
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
	cmd.Flags().StringSlice("patch", nil, patchText)
	return cmd
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
