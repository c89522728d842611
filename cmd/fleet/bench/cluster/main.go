//go:build linux

// Command cluster tries the parts of Folio that talk to Kubernetes with a real control
// plane: etcd, kube-apiserver, kube-controller-manager and kube-scheduler, as build.sh builds
// them, kwok for nodes and pods without processes, and stand-ins of the kubelet that run
// pods as processes.
//
//	dir=$(cmd/fleet/bench/cluster/build.sh)
//	cd cmd/fleet && go build -o $dir ./cmd/... && go run ./bench/cluster -dir $dir
//
// It runs, in order, and fails at the first that is not as it should be:
//
//	deploy   what deploy/ has is applied, upgraded and removed; rights are as they should be
//	tune     folio-fleet tune with the rights of deploy/tune, on nodes of which one is lost
//	pods     the pod cache of folio-agent, with -nodes nodes and -pods pods
//
// All of it listens on 127.0.0.1 alone, has its files in a temporary directory, and is gone
// when the command ends. Times that it prints depend on the machine; what it checks does not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	o := &options{}
	flag.StringVar(&o.bin, "dir", "", "`directory` with the programs of build.sh, folio-agent and folio-fleet")
	flag.StringVar(&o.deploy, "deploy", "deploy", "`directory` cmd/fleet/deploy")
	flag.IntVar(&o.nodes, "nodes", 1000, "`number` of nodes for pods")
	flag.IntVar(&o.pods, "pods", 20000, "`number` of pods")
	only := flag.String("only", "deploy,tune,pods", "what to run")
	flag.Parse()
	if err := run(o, strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

type options struct {
	bin, deploy string
	nodes, pods int
}

func run(o *options, only []string) (err error) {
	if o.bin == "" || o.nodes < 1 || o.pods < o.nodes {
		return errors.New("want -dir, and at least as many pods as nodes")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := start(ctx, o)
	if c != nil {
		defer func() { err = errors.Join(err, c.stop()) }()
	}
	if err != nil {
		return err
	}
	for _, name := range only {
		part := map[string]func(context.Context) error{"deploy": c.deploy, "tune": c.tune, "pods": c.pods}[name]
		if part == nil {
			return fmt.Errorf("-only %s: want deploy, tune, pods", name)
		}
		begun := time.Now()
		if err := part(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.say("%s: as it should be (%.0f s)", name, time.Since(begun).Seconds())
	}
	return nil
}
