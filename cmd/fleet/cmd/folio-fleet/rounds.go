package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/fleet/internal/rounds"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/procmem"
)

// newRounds is what the pods of folio-fleet tune run. It is not for users.
func newRounds(stdout io.Writer) *cobra.Command {
	var copyTo string
	cmd := &cobra.Command{
		Use:   "rounds -- command [args]",
		Short: "Run the rounds of folio-fleet tune in a pod",
		Long: `Run the command under the settings of the plan in the environment, in rounds, and print a
line of JSON for each round. Only the pods of folio-fleet tune run this command.`,
		Example: "  folio-fleet rounds -- ./prog -n 1000",
		Hidden:  true,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if copyTo != "" {
				return copySelf(copyTo)
			}
			plan, err := rounds.ParsePlan(os.Getenv(rounds.PlanEnv))
			if err != nil {
				return usage.Errorf("%v: the pods of folio-fleet tune run this command", err)
			}
			if len(args) == 0 {
				return usage.Errorf("no command: folio-fleet rounds -- command [args]")
			}
			spec, err := plan.Spec()
			if err != nil {
				return err
			}
			fs := procmem.New("")
			cpu, _ := fs.CPUModel()
			var container *procmem.Limit
			if l, ok, err := fs.MemoryLimit(0); ok && err == nil {
				container = &l
			}
			d := &rounds.Driver{
				Plan: plan, Node: os.Getenv(rounds.NodeEnv), CPU: cpu, Dir: os.Getenv(rounds.DirEnv), Log: stdout,
				Container: container,
				Program:   &trial.Program{Command: args, Env: rounds.Environ(os.Environ()), Metric: spec, FS: fs},
			}
			defer trial.EndAll()
			if err := d.Run(cmd.Context()); err != nil || !plan.Stay {
				return err
			}
			<-cmd.Context().Done()
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&copyTo, "copy-to", "", "copy this program to `file`, and do nothing else")
	return cmd
}

// copySelf copies this program, for images that have no cp.
func copySelf(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(self)
	if err != nil {
		return err
	}
	defer in.Close()
	// A container that is started again finds the copy, which may run.
	out, err := os.CreateTemp(filepath.Dir(to), ".folio-fleet-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(0o755)
	}
	if e := out.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		_ = os.Remove(out.Name())
		return fmt.Errorf("copy %s to %s: %w", self, to, err)
	}
	return nil
}
