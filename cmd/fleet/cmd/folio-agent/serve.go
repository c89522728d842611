package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/fleet/internal/agent"
	"github.com/foliomem/folio/cmd/fleet/internal/command"
	"github.com/foliomem/folio/cmd/fleet/internal/exposition"
	"github.com/foliomem/folio/cmd/fleet/internal/kube"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/fleet/internal/profiling"
	"github.com/foliomem/folio/cmd/fleet/internal/serve"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/internal/system/procmem"
)

const serveLong = `Serve what memory costs the Go processes of this node, as Prometheus metrics. It reads
only: it stops and changes no process and no system setting.

/metrics, /healthz and /readyz are served at --listen, without authentication.
/debug/profile?pod=NS/NAME is served at --secure-listen over TLS, to clients with the token
in --token-file: a profile names the functions of a program.

Each part needs a capability, and is not available without it: CAP_SYS_PTRACE to read
processes of other users, CAP_PERFMON to sample all CPUs. What could not be read is
counted (folio_agent_unreadable_total, folio_agent_sampling_ratio).`

type serveFlags struct {
	common
	listen, secure       string
	cert, key, token     string
	cgroups              string
	budget               float64
	sampling             bool
	push, pushToken      string
	pushURL              *url.URL // of push, by check; nil for none
	pushEvery, pushTaken time.Duration
}

func newServe(stderr io.Writer) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve Prometheus metrics of the Go processes of this node",
		Long:  serveLong,
		Example: `  folio-agent serve
  folio-agent serve --listen 127.0.0.1:9464 --kubernetes off
  folio-agent serve --secure-listen :9465 --tls-cert tls.crt --tls-key tls.key --token-file token
  folio-agent serve --push https://pyroscope.example:4040 --push-every 1m`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), stderr) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.listen, "listen", ":9464", "`address` of metrics and health checks")
	fs.StringVar(&f.secure, "secure-listen", "", "`address` of profiles (default none)")
	fs.StringVar(&f.cert, "tls-cert", "", "certificate of --secure-listen: a `file`, read again when it changes")
	fs.StringVar(&f.key, "tls-key", "", "key of that certificate: a `file`")
	fs.StringVar(&f.token, "token-file", "", "bearer token of --secure-listen: a `file`, read again for each request")
	fs.Float64Var(&f.budget, "budget", 0.004, "use at most this `share` of one core on average; sampling and reads wait beyond it")
	fs.BoolVar(&f.sampling, "sampling", true, "sample all CPUs at 19 Hz, in windows, for CPU time by class")
	fs.StringVar(&f.cgroups, "cgroup-root", "/sys/fs/cgroup", "`directory` of the mounted cgroups of the host")
	fs.StringVar(&f.push, "push", "", "push profiles to the Pyroscope-compatible server at `URL` (default none)")
	fs.DurationVar(&f.pushEvery, "push-every", time.Minute, "push the profile of one container every `duration`")
	fs.DurationVar(&f.pushTaken, "push-duration", 10*time.Second, "`duration` of a pushed profile")
	fs.StringVar(&f.pushToken, "push-token-file", "", "bearer token of --push: a `file`")
	f.add(fs)
	return cmd
}

// check refuses flags that do not go together.
func (f *serveFlags) check() (err error) {
	secure := f.secure != ""
	switch {
	case !(f.budget > 0 && f.budget <= 1):
		return usage.Errorf("--budget %v: want a share of a core, more than 0 and at most 1", f.budget)
	case !secure && (f.cert != "" || f.key != "" || f.token != ""):
		return usage.Errorf("--tls-cert, --tls-key and --token-file are of --secure-listen, which is missing")
	case secure && f.token == "":
		return usage.Errorf("--secure-listen needs --token-file: profiles name the functions of programs")
	case secure && (f.cert == "" || f.key == "") && !serve.Loopback(f.secure):
		return usage.Errorf("--secure-listen %s needs --tls-cert and --tls-key: a token is not sent in the clear to other machines than this", f.secure)
	case (f.cert == "") != (f.key == ""):
		return usage.Errorf("--tls-cert and --tls-key come together")
	case f.pushTaken < time.Second || f.pushTaken > time.Minute:
		return usage.Errorf("--push-duration %v: want 1s to 1m", f.pushTaken)
	case f.pushEvery < f.pushTaken:
		return usage.Errorf("--push-every %v is less than --push-duration %v", f.pushEvery, f.pushTaken)
	case f.pushToken != "" && f.push == "":
		return usage.Errorf("--push-token-file is of --push, which is missing")
	}
	if f.push != "" {
		if f.pushURL, err = profiling.ParseURL(f.push); err != nil {
			return usage.Errorf("--push: %w", err)
		}
	}
	return nil
}

func (f *serveFlags) run(ctx context.Context, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	log, err := f.logger(stderr)
	if err != nil {
		return err
	}
	boundMemory()
	directory, err := f.directory(log)
	if err != nil {
		return err
	}
	config := node.Config{FS: procmem.New(""), Cgroups: openCgroups(f.cgroups, log), Looker: node.NewSystem(), Log: log}
	if directory != nil {
		config.Pods = directory // else the interface is nil
	} else {
		log.Info("no Kubernetes API: pods are named by their UID")
	}
	n := node.New(config)
	a := agent.New(n, agent.Options{Budget: f.budget, Version: command.Version(), Log: log, NoSampling: !f.sampling})
	servers, err := f.servers(a, n, directory, log)
	if err != nil {
		return err
	}
	pusher := f.pusher(n, log)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wait sync.WaitGroup
	failed := make(chan error, len(servers)+1)
	begin := func(run func() error) {
		wait.Go(func() {
			if err := run(); err != nil {
				failed <- err
			}
			stop() // one without the others is not an agent
		})
	}
	begin(func() error { return a.Run(ctx) })
	for _, s := range servers {
		log.Info("listening", "address", s.Listener.Addr().String(), "tls", s.TLS != nil)
		begin(func() error { return s.Run(ctx, log) })
	}
	if directory != nil {
		wait.Go(func() { directory.Run(ctx) })
	}
	if pusher != nil {
		wait.Go(func() { pusher.Run(ctx) })
	}
	wait.Wait()
	close(failed)
	var errs []error
	for err := range failed {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (f *serveFlags) servers(a *agent.Agent, n *node.Node, directory *kube.Directory, log *slog.Logger) ([]*serve.Server, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(exposition.New(f.nodeName(), a)); err != nil {
		return nil, err
	}
	public := http.NewServeMux()
	public.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4,
	}))
	public.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	public.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if directory != nil && !directory.Synced() {
			http.Error(w, "the pods of this node are not known yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	listener, err := serve.Listen(f.listen)
	if err != nil {
		return nil, err
	}
	servers := []*serve.Server{{Listener: listener, Handler: public}}
	if f.secure == "" {
		return servers, nil
	}
	secure := &serve.Server{}
	if _, err := serve.ReadToken(f.token); err != nil {
		return nil, err
	}
	if f.cert != "" {
		if secure.TLS, err = serve.Certificate(f.cert, f.key); err != nil {
			return nil, err
		}
	}
	if secure.Listener, err = serve.Listen(f.secure); err != nil {
		return nil, err
	}
	private := http.NewServeMux()
	private.Handle("/debug/profile", profiling.NewHandler(n))
	secure.Handler = serve.WithToken(f.token, private)
	return append(servers, secure), nil
}

func (f *serveFlags) pusher(n *node.Node, log *slog.Logger) *profiling.Pusher {
	if f.pushURL == nil {
		return nil
	}
	return &profiling.Pusher{
		Processes: n, URL: f.pushURL, TokenFile: f.pushToken, Node: f.nodeName(), Every: f.pushEvery, Time: f.pushTaken,
		Client: &http.Client{Timeout: 30 * time.Second}, Log: log, Write: profiling.Write,
	}
}
