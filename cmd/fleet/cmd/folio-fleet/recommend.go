package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/fleet/internal/prom"
	"github.com/foliomem/folio/cmd/fleet/internal/ranking"
	"github.com/foliomem/folio/cmd/fleet/internal/recommend"
	"github.com/foliomem/folio/cmd/fleet/internal/workload"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/result/kubernetes"
	"github.com/foliomem/folio/internal/base/unit"
)

const recommendLong = `Recommend settings for a workload: GOGC, GOMEMLIMIT, requests and the memory limit; what
they save and cost, how sure that is, and why they are safe. Nothing is applied: --patch
prints a patch file for Kustomize or values for Helm.

It reads a week of the live heap, memory off the heap, page cache and CPU time of the GC
(2 queries, for what folio-fleet rules records). The memory limit is not raised unless
--max-memory allows it. With less than 6 days of figures nothing is lowered; with less
than one day there is no recommendation.`

type recommendFlags struct {
	server    prom.Options
	prices    ranking.Prices
	window    time.Duration
	maxMemory string
	former    []string
	patch     string
	values    string
	asJSON    bool
}

func newRecommend(stdout io.Writer) *cobra.Command {
	f := &recommendFlags{window: 7 * 24 * time.Hour}
	cmd := &cobra.Command{
		Use:   "recommend NAMESPACE/WORKLOAD[:CONTAINER]",
		Short: "Recommend settings for a workload",
		Long:  recommendLong,
		Example: `  folio-fleet recommend shop/checkout
  folio-fleet recommend shop/checkout:server --max-memory 4GiB
  folio-fleet recommend shop/checkout --patch kustomize > checkout-memory.yaml
  folio-fleet recommend shop/checkout --patch helm --values-path api > values.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf("%s takes one workload: NAMESPACE/WORKLOAD[:CONTAINER]", usage.Name(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], stdout) },
	}
	fs := cmd.Flags()
	fs.Var(&window{&f.window}, "window", "`duration` to look back, such as 7d")
	fs.StringVar(&f.maxMemory, "max-memory", "", "raise the memory limit up to this `size`, or set one (default the present limit)")
	fs.StringArrayVar(&f.former, "formerly", nil, "earlier `name` of the workload (repeatable)")
	fs.StringVar(&f.patch, "patch", "", "print a patch instead: `format` kustomize or helm")
	fs.StringVar(&f.values, "values-path", "", "with --patch helm: `keys` above env and resources in the values of the chart, such as api.server")
	fs.BoolVar(&f.asJSON, "json", false, "print JSON")
	prices(cmd, &f.prices)
	f.server.Add(fs)
	return cmd
}

// A recommendation is what --json prints.
type recommendation struct {
	Workload ranking.ID `json:"workload"`
	Queries  int        `json:"queries"`
	Partial  []string   `json:"partial,omitempty"`
	*recommend.Advice
}

func (f *recommendFlags) run(cmd *cobra.Command, arg string, stdout io.Writer) error {
	name, err := workload.Parse(arg)
	if err != nil {
		return usage.Errorf("%w", err)
	}
	name.Former = f.former
	o := recommend.Options{Prices: recommend.Prices{Core: f.prices.CoreHour, GiB: f.prices.GiBHour}}
	if err := f.check(&o); err != nil {
		return err
	}
	client, err := prom.New(f.server)
	if err != nil {
		return usage.Errorf("%w", err)
	}
	answer, err := workload.Ask(cmd.Context(), client, name, f.window)
	if err != nil {
		return err
	}
	advice, err := recommend.Of(answer.History, o)
	if err != nil {
		return errors.New(strings.Join(append([]string{answer.ID.String() + ": " + err.Error()}, answer.Notes...), "; "))
	}
	switch {
	case f.asJSON:
		return writeJSON(stdout, recommendation{answer.ID, client.Queries(), answer.Notes, advice})
	case f.patch != "":
		text, err := f.patchOf(answer, advice)
		if err != nil {
			return err
		}
		_, err = io.WriteString(stdout, text)
		return err
	}
	return advice.Text(stdout, answer.ID.String(), answer.Notes)
}

func (f *recommendFlags) check(o *recommend.Options) error {
	if f.maxMemory != "" {
		n, err := unit.ParseSize(f.maxMemory)
		if err != nil || n == 0 {
			return usage.Errorf("--max-memory %q: want a size, as in 4GiB", f.maxMemory)
		}
		o.MaxMemory = float64(n)
	}
	switch f.patch {
	case "", "kustomize", "helm":
	default:
		return usage.Errorf("--patch %q: want kustomize or helm", f.patch)
	}
	if f.values != "" && f.patch != "helm" {
		return usage.Errorf("--values-path is of --patch helm")
	}
	if f.asJSON && f.patch != "" {
		return usage.Errorf("--json and --patch do not go together")
	}
	return checkPrices(f.prices)
}

// patchOf writes the patch. The names are of series, which anybody who can be scraped may
// choose: what Kubernetes would not take as a name is refused.
func (f *recommendFlags) patchOf(answer *workload.Answer, advice *recommend.Advice) (string, error) {
	patch := advice.Patch(answer.ID.String(), answer.Notes)
	if f.patch == "helm" {
		var keys []string
		if f.values != "" {
			keys = strings.Split(f.values, ".")
		}
		return patch.Values(keys...)
	}
	target, err := kubernetes.ParseTarget(answer.ID.Kind + "/" + answer.ID.Workload + ":" + answer.ID.Container)
	if err != nil {
		return "", fmt.Errorf("no patch can be made for this workload: %w", err)
	}
	target.Init = advice.Init
	return patch.YAML(target)
}
