package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/program/codepatch"
)

const patchLong = `Write a copy of a Go program whose heap asks for huge pages.

It changes two instructions of the Go runtime in the copy, those that folio exec
changes in memory: for images and machines where nothing may trace a process. The
program may be stripped and from any build with Go 1.21.6 or later, for linux/amd64 or
linux/arm64. The copy has the same size, mode, times, owner and extended attributes;
all other bytes are the same, and that is checked before the copy gets its name.

Refused: unknown instruction sequences; setuid or setgid programs; file capabilities or
a signature; an output path that is the program.

List the patches in a program: folio patches --of FILE.`

func newPatch(a *app) *cobra.Command {
	out := ""
	cmd := &cobra.Command{
		Use:   "patch program -o file",
		Short: "Copy a Go program so that its heap asks for huge pages",
		Long:  patchLong,
		Example: `  folio patch ./server -o ./server.huge
  folio patch ./server -o /tmp/server.huge`,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return misusef("patch: want one program, not %d: folio patch ./prog -o ./prog.huge", len(args))
			case out == "":
				return misusef("patch: no output given: folio patch %s -o FILE", args[0])
			}
			return a.patch(args[0], out)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the `file` to write")
	return cmd
}

func (a *app) patch(program, out string) error {
	c, err := codepatch.Copy(program, out)
	var refused *codepatch.RefusedError
	if errors.As(err, &refused) {
		return fmt.Errorf("patch: %s: %w", program, err)
	} else if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	release := c.Patch.GoVersion
	if release == "" {
		release = "an unknown release of Go"
	}
	_ = a.stdout.Line("%s: a copy of %s (%s, %s) whose heap asks for huge pages; changed:", out, program, release, c.Patch.Arch)
	for _, e := range c.Patch.Edits {
		_ = a.stdout.Line("  %#x (file offset %#x): %x -> %x", e.Address, e.Offset, e.Old, e.New)
	}
	for _, n := range c.Notes {
		_ = a.stdout.Line("  note: %s", n)
	}
	return nil
}
