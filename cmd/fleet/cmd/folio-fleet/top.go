package main

import (
	"encoding/json"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/fleet/internal/prom"
	"github.com/foliomem/folio/cmd/fleet/internal/ranking"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/internal/base/console"
)

const topLong = `Rank the workloads of a cluster by what they lose to memory: CPU time of memory management
(GC, allocation, page faults), memory that is requested but not used at any time of the
window, and the cost of both per month at your prices. This is an upper bound of the
savings; folio-fleet recommend says which of them are possible.

It sends 9 queries, for series that the rules record (folio-fleet rules).`

// prices are the flags of prices. The defaults have the ratio that clouds ask for on demand:
// a core costs as much as some 7.5 GiB.
func prices(cmd *cobra.Command, p *ranking.Prices) {
	cmd.Flags().Float64Var(&p.CoreHour, "price-core-hour", 0.0218, "`price` of a core per hour")
	cmd.Flags().Float64Var(&p.GiBHour, "price-gib-hour", 0.0029, "`price` of a GiB of memory per hour")
}

func checkPrices(p ranking.Prices) error {
	if !(p.CoreHour >= 0 && p.CoreHour <= 1e6 && p.GiBHour >= 0 && p.GiBHour <= 1e6) {
		return usage.Errorf("--price-core-hour %v, --price-gib-hour %v: want prices from 0 on", p.CoreHour, p.GiBHour)
	}
	return nil
}

func newTop(stdout io.Writer) *cobra.Command {
	var server prom.Options
	o := ranking.Options{}
	var by string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Rank workloads by what they lose to memory",
		Long:  topLong,
		Example: `  folio-fleet top --prometheus https://prometheus.example --token-file token
  folio-fleet top --price-core-hour 0.04 --price-gib-hour 0.005 --window 7d
  folio-fleet top --sort cores --json`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkPrices(o.Prices); err != nil {
				return err
			}
			switch o.By = ranking.By(by); o.By {
			case ranking.ByMoney, ranking.ByCores, ranking.ByGiB:
			default:
				return usage.Errorf("--sort %q: want money, cores or gib", by)
			}
			if o.Limit < 0 {
				return usage.Errorf("--limit %d: want 0 (all) or more", o.Limit)
			}
			client, err := prom.New(server)
			if err != nil {
				return usage.Errorf("%w", err)
			}
			r, err := ranking.Ask(cmd.Context(), client, o)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(stdout, r)
			}
			return r.Text(stdout)
		},
	}
	fs := cmd.Flags()
	prices(cmd, &o.Prices)
	o.Window = 24 * time.Hour
	fs.Var(&window{&o.Window}, "window", "`duration` to look back, such as 24h or 7d")
	fs.StringVar(&by, "sort", string(ranking.ByMoney), "sort by `key`: money, cores or gib")
	fs.IntVar(&o.Limit, "limit", 20, "print at most `n` workloads; 0 for all")
	fs.StringVar(&o.Namespace, "namespace", "", "only workloads of this `namespace` (default all)")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	server.Add(fs)
	return cmd
}

// writeJSON prints what came from outside so that a terminal does not obey it.
func writeJSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(console.JSON(data), '\n'))
	return err
}
