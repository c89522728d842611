package main

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"
)

const (
	agentShort = "Measure what memory costs the Go processes of a Kubernetes node"
	fleetShort = "Say what the services of a fleet lose to memory, and what they should set"
)

// newPlugin is a command of another program, folio-NAME on the PATH, as with git and
// kubectl: what needs Kubernetes and Prometheus is a module of its own (fleet/), so that
// folio stays light.
func newPlugin(name, short string) *cobra.Command {
	program := "folio-" + name
	return &cobra.Command{
		Use:   name + " [command] [flags]",
		Short: short + " (" + program + ", installed separately)",
		Long: fmt.Sprintf(`%s.

folio %s runs %s from the PATH with the same arguments. To install it, from a clone of
Folio: cd cmd/fleet && go install ./cmd/%s. See https://github.com/foliomem/folio/blob/main/docs/fleet.md`, short, name, program, program),
		Example:            fmt.Sprintf("  folio %s --help", name),
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := exec.LookPath(program)
			switch {
			case errors.Is(err, exec.ErrNotFound) && len(args) == 1 && (args[0] == "-h" || args[0] == "--help"):
				return cmd.Help()
			case err != nil && !errors.Is(err, exec.ErrNotFound):
				return errors.Join(fmt.Errorf("%s: cannot run %s: %w", name, program, err), exitCode(exitCannotRun))
			case err != nil:
				return errors.Join(fmt.Errorf("%s: %s is not on the PATH; install it from a clone of Folio: cd cmd/fleet && go install ./cmd/%s", name, program, program), exitCode(exitNotFound))
			}
			if err := become(path, append([]string{program}, args...)); err != nil {
				return errors.Join(fmt.Errorf("%s: cannot run %s: %w", name, path, err), exitCode(exitCannotRun))
			}
			return nil
		},
	}
}
