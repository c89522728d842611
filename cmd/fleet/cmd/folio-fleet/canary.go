package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/foliomem/folio/cmd/fleet/internal/canary"
	"github.com/foliomem/folio/cmd/fleet/internal/command"
	"github.com/foliomem/folio/cmd/fleet/internal/prom"
	"github.com/foliomem/folio/cmd/fleet/internal/workload"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/result"
	patch "github.com/foliomem/folio/cmd/internal/result/kubernetes"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

const canaryLong = `Compare a setting of GOGC and GOMEMLIMIT with what a workload has, on some of its pods, as
they serve. Two groups of pods swap the setting block by block, so that neither the hour nor
a difference of the pods is measured. No pod is restarted.

folio-agent act sets it, for pods with the label that its policy names for it:

  canary: folio.dev/canary=true

It is told by an annotation of the pod, folio.dev/canary, with the time until which the
setting holds. So it ends 2 minutes after the block even if folio-fleet is killed.

What is compared, from Prometheus, is CPU time per GiB allocated, which needs nothing of the
program; with --requests it is CPU time per request. Queries of your own are PromQL with the
label pod.

It stops, and takes the setting back, when a pod is restarted, replaced or not ready, uses more
than 90% of its memory limit, breaks --max-rss, --max-p99 or --max-errors, does not have the
setting it should have, or when Prometheus or the API server is away for a minute.

Exit codes: 0 measured, with a recommendation or without; 1 failed, or stopped by a guardrail;
2 wrong usage; 130 interrupted.`

type canaryFlags struct {
	kubeFlags
	canary.Options
	server         prom.Options
	pods           string
	maxRSS         string
	maxErrors      string
	json           string
	patch, dryRun  bool
	stdout, stderr io.Writer
}

func newCanary(stdout, stderr io.Writer) *cobra.Command {
	f := &canaryFlags{stdout: stdout, stderr: stderr}
	cmd := &cobra.Command{
		Use:   "canary NAMESPACE/WORKLOAD[:CONTAINER]",
		Short: "Compare a setting on the pods of a workload that serve",
		Long:  canaryLong,
		Example: `  folio-fleet canary shop/checkout --gogc 400 --prometheus http://127.0.0.1:9090
  folio-fleet canary shop/checkout:server --gogc off --memlimit fit --pods 10% --rounds 12
  folio-fleet canary shop/api --gogc 200 --requests 'sum by (pod) (http_requests_total{namespace="shop"})'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf("%s takes one workload: NAMESPACE/WORKLOAD[:CONTAINER]", usage.Name(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), args[0]) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.GOGC, "gogc", "", "GOGC to compare: a `percentage`, or off with --memlimit")
	fs.StringVar(&f.MemoryLimit, "memlimit", "", "GOMEMLIMIT to compare: a `size`, or fit: what the container's memory limit leaves")
	fs.StringVar(&f.pods, "pods", "20%", "`share` of the pods that take part, at least two; half of them have the setting at a time")
	fs.IntVar(&f.Rounds, "rounds", 8, "`n` rounds of two blocks")
	fs.DurationVar(&f.Block, "block", 5*time.Minute, "`duration` for which a block counts")
	fs.DurationVar(&f.Settle, "settle", 90*time.Second, "`duration` before: it does not count")
	fs.DurationVar(&f.Every, "every", 15*time.Second, "check the guardrails after each `duration`")
	fs.StringVar(&f.Requests, "requests", "", "`query` for a counter of requests, by pod: compare CPU time per request")
	fs.StringVar(&f.Errors, "errors", "", "`query` for a counter of failed requests, by pod")
	fs.StringVar(&f.P99, "p99", "", "`query` for the 99th percentile of latency in seconds, by pod")
	fs.StringVar(&f.maxRSS, "max-rss", "", "stop if the RSS of a pod exceeds this `size`")
	fs.DurationVar(&f.MaxP99, "max-p99", 0, "stop if the p99 of a pod exceeds this `duration` twice in a row")
	fs.StringVar(&f.maxErrors, "max-errors", "", "stop if more than this `share` of the requests of a block to a pod fail, such as 0.1%")
	fs.Uint64Var(&f.Seed, "seed", 0, "seed `n` of the groups and the order (default random)")
	fs.StringVar(&f.json, "json", "", "write the result, with every block, to `file` as JSON (- for standard output)")
	fs.BoolVar(&f.patch, "patch", false, "print what is recommended as a patch of the workload")
	fs.BoolVar(&f.dryRun, "dry-run", false, "print which pods would take part, and do nothing")
	f.kubeFlags.add(fs)
	f.server.Add(fs)
	return cmd
}

func (f *canaryFlags) check(name string) (err error) {
	if f.Name, err = workload.Parse(name); err != nil {
		return err
	}
	share, ok := strings.CutSuffix(f.pods, "%")
	if v, err := strconv.ParseFloat(share, 64); ok && err == nil && v > 0 && v <= 100 {
		f.Share = v / 100
	} else {
		return fmt.Errorf("--pods %q: want a percentage up to 100%%", f.pods)
	}
	if f.maxRSS != "" {
		if f.MaxRSS, err = unit.ParseSize(f.maxRSS); err != nil || f.MaxRSS == 0 {
			return fmt.Errorf("--max-rss %q: want a size, as in 4GiB", f.maxRSS)
		}
	}
	if f.maxErrors != "" {
		if f.MaxErrors, err = tune.ParseMaxErrors(f.maxErrors); err != nil {
			return err
		}
	}
	if f.patch && f.MemoryLimit == "fit" {
		return errors.New("--patch: a patch has no GOMEMLIMIT that follows the container; give it as a size, or keep --memlimit fit by a rule of folio-agent act")
	}
	if f.Seed == 0 {
		f.Seed = mathrand.Uint64() >> 32
	}
	return f.Check()
}

func (f *canaryFlags) run(ctx context.Context, name string) error {
	if err := f.check(name); err != nil {
		return &usage.Error{Err: err}
	}
	source, err := prom.New(f.server)
	if err != nil {
		return &usage.Error{Err: err}
	}
	var out *result.Output
	text := f.stdout
	if f.json != "" {
		if out, err = result.OpenOutput("--json", f.json, f.stdout); err != nil {
			return &usage.Error{Err: err}
		}
		if f.json == "-" {
			text = f.stderr
		}
	}
	config, err := f.config()
	if err != nil {
		return errors.Join(err, out.Close())
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return errors.Join(fmt.Errorf("cannot use the Kubernetes API: %w", err), out.Close())
	}
	c := &canary.Canary{Options: f.Options, Pods: client, Source: source, Progress: func(line string) { fmt.Fprintln(f.stderr, console.Line(line)) }}
	if err := c.Prepare(ctx); err != nil {
		return errors.Join(err, out.Close())
	}
	for i, g := range c.Groups() {
		fmt.Fprintln(f.stderr, console.Line(fmt.Sprintf("group %d: %s", i+1, strings.Join(g, ", "))))
	}
	fmt.Fprintf(f.stderr, "it takes about %s\n", unit.About(f.Takes()))
	if f.dryRun {
		return out.Close()
	}
	r, err := c.Run(ctx)
	if r != nil {
		err = errors.Join(err, f.write(r, out, text))
	}
	return errors.Join(err, out.Close())
}

// write prints and writes what was found, until it was stopped if it was.
func (f *canaryFlags) write(r *canary.Result, out *result.Output, text io.Writer) error {
	err := r.Write(text)
	if f.patch && r.State == canary.Recommended {
		err = errors.Join(err, f.writePatch(r, text))
	}
	if out != nil {
		data, e := json.MarshalIndent(canaryFile{"fleet-canary", command.Version(), f.Seed, r}, "", "  ")
		if e == nil {
			e = out.Write(append(console.JSON(data), '\n'))
		}
		err = errors.Join(err, e)
	}
	return err
}

// A canaryFile is the JSON of a comparison.
type canaryFile struct {
	Kind    string `json:"kind"`
	Version string `json:"version"`
	Seed    uint64 `json:"seed"`
	*canary.Result
}

func (f *canaryFlags) writePatch(r *canary.Result, text io.Writer) error {
	_, of, _ := strings.Cut(r.Workload, "/")
	target, err := patch.ParseTarget(r.Kind + "/" + of)
	if err != nil {
		return fmt.Errorf("no patch can be made for this workload: %w", err)
	}
	p := patch.Patch{Comments: []string{"What folio-fleet canary recommends for " + r.Workload + ", measured on its pods: " + strings.Join(r.Answer(), " ")}}
	s := trial.Setting{GOGC: f.GOGC}
	if f.MemoryLimit != "" {
		n, err := livegc.ParseGOMEMLIMIT(f.MemoryLimit)
		if err != nil {
			return err
		}
		s.MemLimit = uint64(*n)
	}
	p.Set(s)
	y, err := p.YAML(target)
	if err == nil {
		_, err = io.WriteString(text, "\n"+y)
	}
	return err
}
