package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/fleet/internal/dashboard"
	"github.com/foliomem/folio/cmd/internal/base/usage"
)

func newDashboard(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "dashboard",
		Short: "Print a Grafana dashboard",
		Long: `Print a Grafana dashboard to import: what memory costs by workload and class, memory
against its limit, GC settings, huge pages, and the agents. It shows what the rules of
folio-fleet rules record.`,
		Example: "  folio-fleet dashboard > folio-fleet.json",
		Args:    usage.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			data, err := dashboard.JSON()
			if err != nil {
				return err
			}
			_, err = stdout.Write(append(data, '\n'))
			return err
		},
	}
}
