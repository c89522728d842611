package main

import (
	"errors"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// An app is what all commands share.
type app struct {
	stdin          *os.File
	stdout, stderr io.Writer
}

const rootLong = `Folio finds the time that a Go program loses to memory (garbage collection,
page faults, TLB misses) and gives it back. It works on programs as they are.

  folio run -- ./prog args     what memory management costs this program
  folio tune -- ./prog args    the settings that give it back

Exit codes: 0 done; 1 failed; 2 wrong use; 130 interrupted. A program that is
run once passes its own exit code on.`

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "folio",
		Short:         "Find the time a Go program loses to memory, and give it back",
		Long:          rootLong,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misuse(unknownCommand(cmd, args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return misusef("%s: %w: see 'folio %s --help'", cmd.Name(), err, cmd.Name())
	})
	root.SetVersionTemplate("folio {{.Version}}\n")
	root.AddCommand(newRun(a), newTune(a))
	return root
}

func unknownCommand(cmd *cobra.Command, name string) error {
	msg := "unknown command " + name
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		msg += ": did you mean " + strings.Join(near, " or ") + "?"
	} else {
		msg += ": see 'folio --help'; to measure a program: folio run -- " + name
	}
	return errors.New(msg)
}

// version is what the module system says that this is.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
