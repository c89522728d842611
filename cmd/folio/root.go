package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/program/goversion"
	"github.com/foliomem/folio/internal/base/console"
)

// An app is what all commands share.
type app struct {
	stdin          *os.File
	stdout, stderr *console.Printer
}

const rootLong = `Folio finds the time that a Go program loses to memory (garbage collection,
page faults, TLB misses) and gets it back. No rebuild is needed.

  folio run -- ./prog args             what memory management costs this program
  folio tune -- ./prog args            the settings that get it back
  folio exec --tree -- npx tsc -p .    every Go program under npx, on huge pages

Exit codes: 0 done; 1 failed; 2 wrong usage; 3 too noisy for folio ab --fail-if, or
late in folio load --strict; 126 the program to measure cannot be executed; 127 it
is not found; 130 interrupted. A program that is run once passes its own exit code on.`

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "folio",
		Short:         "Find the time a Go program loses to memory, and get it back",
		Long:          rootLong,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetVersionTemplate("folio {{.Version}}\n")
	type group = usage.CommandGroup
	type commands = []*cobra.Command
	usage.AddCommands(root,
		group{Title: "Everyday", Commands: commands{newRun(a), newTune(a), newAB(a), newExec(a), newInit(a)}},
		group{Title: "Look inside", Commands: commands{newInspect(a), newLeaks(a), newDoctor(a), newLoad(a), newLab(a)}},
		group{Title: "Change a program", Commands: commands{newSet(a), newCollapse(a), newPatch(a), newBuild(a), newGo(a), newPatches(a), newSuggest(a), newVet(a)}},
		group{Title: "Saved results", Commands: commands{newReport(a), newCompare(a)}},
		group{Title: "Fleets", Commands: commands{newPlugin("agent", agentShort), newPlugin("fleet", fleetShort)}},
		group{Title: "More", Commands: commands{newCache(a), newVersion(a), newReference()}})
	usage.Strict(root)
	return root
}

// newReference returns the command that writes the man pages, for packagers.
func newReference() *cobra.Command {
	return &cobra.Command{
		Use:     "reference directory",
		Short:   "Write man pages, made from the help texts",
		Example: "  folio reference /tmp",
		Hidden:  true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) != 1 {
				return misusef("reference: want one directory")
			}
			for name, text := range usage.ManPages(cmd.Root()) {
				err = errors.Join(err, os.WriteFile(filepath.Join(args[0], name), []byte(text), 0o644))
			}
			return err
		},
	}
}

// knownCommand refuses an unknown command, and says how to measure a program of that name.
func knownCommand(cmd *cobra.Command, args []string) error {
	err := usage.OnlyCommands(cmd, args)
	if err == nil || len(usage.Meant(cmd, args[0])) > 0 {
		return err
	}
	return misusef("%w; to measure a program: folio run -- %s", err, args[0])
}

func version() string { return goversion.Version() }
