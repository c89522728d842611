package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/fleet/internal/act"
	"github.com/foliomem/folio/cmd/fleet/internal/cgroups"
	"github.com/foliomem/folio/cmd/fleet/internal/command"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/fleet/internal/serve"
	"github.com/foliomem/folio/cmd/internal/base/guard"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/process/oom"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/system/procmem"
)

const actLong = `Change the Go processes of pods that opted in by a label: put their heaps on huge pages, as
folio collapse does, and set GOGC and GOMEMLIMIT, as folio set does. A policy file says how
far; it is read again when it changes:

  label: folio.dev/collapse=true   # of pods that opt in to huge pages
  minDensity: 0.8                  # share of a window that must be in memory
  rate: 64MiB                      # per second, at most
  budgetPerProcess: 4GiB
  every: 5m
  maxMemoryPressure: 1%            # of time in which tasks wait for memory; stops above it
  minNodeAvailable: 10%            # of the node's memory
  minContainerHeadroom: 10%        # of the container's limit, after the heap has grown

These are the defaults. Settings are given by rules, of which the first that fits counts:

  settings:
  - label: folio.dev/settings=true # of pods that opt in to settings
    container: server              # default: all containers
    gogc: 200                      # a percentage, off or recommended; default: keep it
    memoryLimit: fit               # a size, fit or recommended; default: keep it

fit is what the container's memory limit leaves, as in folio doctor; a larger size is
lowered to it. It follows the limit within seconds. recommended is what folio-fleet
recommend --json printed into a file of --recommendations.

GC thrashing, where a memory limit has the GC run all the time, is watched for as folio set
--watch does; evidence is saved in --evidence:

  thrash:
    label: folio.dev/thrash=true # of pods that opt in; default: none
    then: raise=10%              # raise=SIZE, raise=N% or term; default: evidence only

folio-fleet canary gives settings for a time, to pods with a label:

  canary: folio.dev/canary=true  # default: none

Settings are restored when their rule, label or policy goes, and when the agent ends; if it
is killed, a second process restores them. GOGC=off needs a memory limit. Settings that a
program sets itself are left alone.

It needs the Kubernetes API, CAP_SYS_PTRACE, and for huge pages CAP_SYS_NICE and Linux 6.1.
Run it in a container of its own: folio-agent serve needs no permission to change anything.`

type actFlags struct {
	common
	policy, recommendations string
	evidence                string
	listen, cgroups         string
	dryRun                  bool
}

func newAct(stderr io.Writer) *cobra.Command {
	f := &actFlags{}
	cmd := &cobra.Command{
		Use:   "act",
		Short: "Put heaps on huge pages and set GOGC and GOMEMLIMIT, for pods that opted in",
		Long:  actLong,
		Example: `  folio-agent act --policy policy.yaml --dry-run
  folio-agent act --policy policy.yaml`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), stderr) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.policy, "policy", "", "policy `file`")
	fs.StringVar(&f.recommendations, "recommendations", "", "`directory` with NAME.json files of folio-fleet recommend --json")
	fs.StringVar(&f.evidence, "evidence", "", "`directory` for what is saved of programs that die by GC; the last 20 are kept")
	fs.BoolVar(&f.dryRun, "dry-run", false, "log what would be done, and do nothing")
	fs.StringVar(&f.listen, "listen", ":9466", "`address` of metrics and health checks")
	fs.StringVar(&f.cgroups, "cgroup-root", "/sys/fs/cgroup", "`directory` of the mounted cgroups of the host")
	f.add(fs)
	cmd.AddCommand(&cobra.Command{
		Use: "guard", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return guard.Main[livegc.Undo]([]string{"act", "guard"}, args, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	})
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
	if policy.Recommends() && f.recommendations == "" {
		return usage.Errorf("--recommendations is missing: policy %s gives recommended settings", f.policy)
	}
	if policy.Thrash.Label != "" && f.evidence == "" {
		return usage.Errorf("--evidence is missing: policy %s has thrash, which saves evidence", f.policy)
	}
	self, err := os.Executable()
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
	actor.Reload = func() (act.Policy, error) { return act.Read(f.policy) }
	actor.Keeper = act.NewKeeper(actor, cgroups.Open(f.cgroups), f.recommendations, []string{self, "act", "guard"})
	if f.evidence != "" && !f.dryRun {
		actor.Sentry = act.NewSentry(actor, evidence(f.evidence))
	}
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
	log.Info("listening", "address", listener.Addr().String(), "tls", false)
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

// evidence is what is saved of a program that dies by GC.
func evidence(dir string) oom.Options {
	return oom.Options{
		Save: dir,
		JSON: func(p *inspect.Process) ([]byte, []string, error) {
			file := result.NewInspect(command.Version())
			file.SetProcess(p)
			data, err := file.JSON()
			return data, file.Process.Notes, err
		},
		Charge: func(c *charge.Charge) ([]byte, error) { return result.NewCharge(command.Version(), c).JSON() },
	}
}
