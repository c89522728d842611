package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/fleet/internal/rules"
	"github.com/foliomem/folio/cmd/internal/base/usage"
)

const rulesLong = `Print recording and alerting rules for Prometheus, Mimir or Thanos. folio-fleet top and
recommend query only what these rules record: load them first.

Sources of figures: agent (folio-agent), application (go_* and process_* of the program's
own /metrics, by client_golang), cadvisor (the kubelet), kube (kube-state-metrics). Omit
those that you do not have. Series of the agent and of applications need the labels
namespace, pod and container; scrape the agent with honor_labels: true.`

func newRules(stdout io.Writer) *cobra.Command {
	var interval time.Duration
	var sources []string
	var format string
	var alerts bool
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Print recording and alerting rules for Prometheus",
		Long:  rulesLong,
		Example: `  folio-fleet rules > folio.rules.yaml && promtool check rules folio.rules.yaml
  folio-fleet rules --sources application,cadvisor,kube
  folio-fleet rules --format operator | kubectl apply -f -`,
		Args: usage.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			o := rules.Options{Interval: interval, Alerts: alerts}
			for _, s := range sources {
				o.Sources = append(o.Sources, rules.Source(s))
			}
			file, err := rules.New(o)
			if err != nil {
				return usage.Errorf("%w", err)
			}
			var text []byte
			switch format {
			case "prometheus":
				text, err = file.YAML()
			case "operator":
				text, err = file.Object("folio-fleet")
			default:
				return usage.Errorf("--format %q: want prometheus or operator", format)
			}
			if err != nil {
				return err
			}
			_, err = stdout.Write(text)
			return err
		},
	}
	var all []string
	for _, s := range rules.Sources {
		all = append(all, string(s))
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&sources, "sources", all, "record figures of these `sources`, such as application,kube")
	fs.DurationVar(&interval, "interval", rules.DefaultInterval, "evaluate the rules every `duration`, 15s to 4m")
	fs.BoolVar(&alerts, "alerts", true, "print alerting rules, too")
	fs.StringVar(&format, "format", "prometheus", "output `format`: prometheus (a rules file) or operator (a PrometheusRule)")
	return cmd
}
