package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/fleet/internal/act"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/fleet/internal/serve"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/internal/system/procmem"
)

const actLong = `Put the heaps of Go processes on huge pages, for pods that opted in by a label, as folio
collapse does. A policy file says how far:

  label: folio.dev/collapse=true   # of pods that opt in
  minDensity: 0.8                  # share of a window that must be in memory
  rate: 64MiB                      # per second, at most
  budgetPerProcess: 4GiB
  every: 5m
  maxMemoryPressure: 1%            # of time in which tasks wait for memory; stops above it
  minNodeAvailable: 10%            # of the node's memory
  minContainerHeadroom: 10%        # of the container's limit, after the heap has grown

These are the defaults. It needs the Kubernetes API, CAP_SYS_NICE, CAP_SYS_PTRACE and
Linux 6.1. Run it in a container of its own: folio-agent serve needs no permission to
change anything.`

type actFlags struct {
	common
	policy, listen, cgroups string
	dryRun                  bool
}

func newAct(stderr io.Writer) *cobra.Command {
	f := &actFlags{}
	cmd := &cobra.Command{
		Use:   "act",
		Short: "Put heaps on huge pages, for pods that opted in",
		Long:  actLong,
		Example: `  folio-agent act --policy policy.yaml --dry-run
  folio-agent act --policy policy.yaml`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), stderr) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.policy, "policy", "", "policy `file`")
	fs.BoolVar(&f.dryRun, "dry-run", false, "log what would be done, and do nothing")
	fs.StringVar(&f.listen, "listen", ":9466", "`address` of metrics and health checks")
	fs.StringVar(&f.cgroups, "cgroup-root", "/sys/fs/cgroup", "`directory` of the mounted cgroups of the host")
	f.add(fs)
	return cmd
}

func (f *actFlags) run(ctx context.Context, stderr io.Writer) error {
	if f.policy == "" {
		return usage.Errorf("--policy is missing: act does what a policy file says")
	}
	log, err := f.logger(stderr)
	if err != nil {
		return err
	}
	policy, err := act.Read(f.policy)
	if err != nil {
		return err
	}
	boundMemory()
	directory, err := f.directory(log)
	if err != nil {
		return err
	}
	if directory == nil {
		return errors.New("act needs the Kubernetes API, which has the labels of pods: run it in a pod, or with --kubeconfig")
	}
	groups := openCgroups(f.cgroups, log)
	actor := act.New(policy, node.New(node.Config{FS: procmem.New(""), Pods: directory, Log: log}), directory, groups, log)
	actor.DryRun = f.dryRun
	registry := prometheus.NewRegistry()
	if err := registry.Register(&act.Collector{Node: f.nodeName(), Actor: actor}); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	listener, err := serve.Listen(f.listen)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wait sync.WaitGroup
	wait.Go(func() { directory.Run(ctx) })
	var served error
	wait.Go(func() {
		served = (&serve.Server{Listener: listener, Handler: mux}).Run(ctx, log)
		stop()
	})
	acted := actor.Run(ctx)
	stop()
	wait.Wait()
	return errors.Join(acted, served)
}
