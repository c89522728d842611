// Command live compares folio tune --attach, on a service as it runs, with folio tune --rate, which
// starts the service for every run.
//
//	go run ./cmd/bench/live [-service json] [-rate 600] [-budget 15m] [-keep DIR]
//	go run ./cmd/bench/live -short	# shows that it works, no more
//
// The service runs under a load of a fixed rate, and then under one that wanders: its rate changes
// every ten seconds, by a slow wave and by chance, between 40% and 160% of the fixed one. Services
// are json (examples/jsonserver with a small heap), those of cmd/bench/server, and "folio tune
// --attach" of any other command that serves -url. While a service runs, failed requests are counted, and
// p99 by block: the highest with the settings from before, and with others. It is to be run from the root
// of the repository.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/programs"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/internal/base/unit"
)

type bench struct {
	service string
	url     string
	rate    float64
	budget  time.Duration
	block   time.Duration
	only    string
	keep    string

	dir, folio, ready string
	command           []string
	load              load.Options
	mu                sync.Mutex
	requests          []request
	ends              time.Time // of the load: later requests are cancelled
}

func main() {
	var b bench
	flag.StringVar(&b.service, "service", "json", "`name` of the service: json, api, cache, rpc or series")
	flag.StringVar(&b.url, "url", "", "that the command in the arguments serves, a `URL`")
	flag.Float64Var(&b.rate, "rate", 600, "requests per second, `n`")
	flag.DurationVar(&b.budget, "budget", 15*time.Minute, "of each search, a `duration`")
	flag.DurationVar(&b.block, "block", 10*time.Second, "of a setting at a time, and of the load of a run of tune --rate, a `duration`")
	flag.StringVar(&b.only, "only", "", "only rows whose `name` contains this")
	flag.StringVar(&b.keep, "keep", "", "keep the results in this `directory`")
	short := flag.Bool("short", false, "a minute each, with blocks of a second: figures mean little")
	flag.Parse()
	if *short {
		b.budget, b.block = time.Minute, time.Second
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "folio-live-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if err := b.build(ctx); err != nil {
		return err
	}
	columns := []string{"search", "answer", "compared with the default", "peak RSS", "blocks or runs", "took", "failed requests", "worst p99 before", "of others"}
	t := table.New(os.Stdout, columns...)
	for _, row := range []struct {
		name string
		find func(ctx context.Context, file string) error
	}{
		{"--attach, fixed load", func(ctx context.Context, file string) error {
			return b.attach(ctx, file, func(int) float64 { return 1 })
		}},
		{"--attach, wandering load", func(ctx context.Context, file string) error { return b.attach(ctx, file, wander()) }},
		{"--rate", b.started},
	} {
		if !strings.Contains(row.name, b.only) || b.url != "" && row.name == "--rate" {
			continue
		}
		file := filepath.Join(cmp.Or(b.keep, b.dir), strings.ReplaceAll(row.name, " ", "-")+".json")
		b.requests, b.ends = nil, time.Time{}
		if err := row.find(ctx, file); err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
		cells, err := b.answer(file)
		if err != nil {
			return err
		}
		cells = append([]string{row.name}, cells...)
		t.Row(append(cells, make([]string, len(columns)-len(cells))...)...) // --rate counts no requests
	}
	return nil
}

// build builds folio and the service, and says what is requested of it.
func (b *bench) build(ctx context.Context) error {
	b.folio = filepath.Join(b.dir, "folio")
	if _, err := programs.Output(ctx, "", nil, "go", "build", "-o", b.folio, "./cmd/folio"); err != nil {
		return err
	}
	b.load = load.Options{Rate: b.rate, Timeout: load.DefaultTimeout, MaxInFlight: load.DefaultMaxInFlight, Each: b.ended}
	if b.url != "" {
		b.command, b.ready, b.load.URLs = flag.Args(), b.url, []string{b.url}
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr, bin := l.Addr().String(), filepath.Join(b.dir, b.service)
	l.Close()
	b.ready = "http://" + addr + "/healthz"
	if b.service == "json" {
		b.command = []string{bin, "-records", "1000", "-addr", addr}
		b.load.URLs = []string{"http://" + addr + "/item?id=7", "http://" + addr + "/search?q=a"}
		_, err = programs.Output(ctx, "", nil, "go", "build", "-o", bin, "./examples/jsonserver")
		return err
	}
	b.command = []string{bin, "-listen", addr}
	if b.service == "rpc" {
		b.ready, b.load.GRPC, b.load.URLs = "tcp:"+addr, "feed.Feed/Rank", []string{"http://" + addr}
	}
	for path := range strings.FieldsSeq(map[string]string{"api": "search search search orders", "cache": "get get get get set", "series": "append query"}[b.service]) {
		b.load.URLs = append(b.load.URLs, "http://"+addr+"/"+path)
	}
	if _, err := programs.Output(ctx, "", []string{"GOWORK=off"}, "go", "build", "-C", filepath.Join("cmd", "bench", "server", b.service), "-o", bin, "."); err != nil {
		return err
	}
	b.load.Body, err = programs.Output(ctx, b.dir, plain, bin, "-body")
	return err
}

// plain turns off what services change of their GC.
var plain = []string{"FOLIO=off", "AUTOMEMLIMIT=off"}

// attach searches the settings of the service as it runs under its load, which has a part of the
// rate in each ten seconds.
func (b *bench) attach(ctx context.Context, file string, part func(i int) float64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := exec.CommandContext(ctx, b.command[0], b.command[1:]...)
	server.Env = append(os.Environ(), plain...)
	if err := server.Start(); err != nil {
		return err
	}
	defer func() { cancel(); _ = server.Wait() }()
	u, err := url.Parse(b.load.URLs[0])
	if err != nil {
		return err
	}
	for ready := false; !ready; {
		c, err := net.Dial("tcp", u.Host)
		if ready = err == nil; ready {
			c.Close()
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(100 * time.Millisecond)
	}
	loaded := make(chan error, 1)
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			o := b.load
			o.Rate, o.Duration = b.rate*part(i), 10*time.Second
			if _, err := load.Run(ctx, o); err != nil && ctx.Err() == nil {
				loaded <- err
				cancel()
			}
		}
		close(loaded)
	}()
	_, err = programs.Output(ctx, "", nil, b.folio, "tune", "--attach", strconv.Itoa(server.Process.Pid), "--budget", b.budget.String(),
		"--block", b.block.String(), "--json", file)
	b.mu.Lock()
	b.ends = time.Now()
	b.mu.Unlock()
	cancel()
	for failed := range loaded {
		err = failed
	}
	return err
}

// wander returns parts of a rate from 0.4 to 1.6, the same every time.
func wander() func(i int) float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	return func(i int) float64 {
		return 1 + 0.35*math.Sin(float64(i)/9) + 0.5*(rng.Float64()-0.5)
	}
}

// started searches the settings with a fresh service for every run.
func (b *bench) started(ctx context.Context, file string) error {
	args := []string{b.folio, "tune", "--ready", b.ready, "--rate", fmt.Sprint(b.rate), "--metric", "cpu/request", "--thp", "system",
		"--budget", b.budget.String(), "--load-duration", b.block.String(), "--json", file}
	for _, u := range b.load.URLs {
		args = append(args, "--target", u)
	}
	if b.load.GRPC != "" {
		args = append(args, "--load-grpc", b.load.GRPC)
	}
	if b.load.Body != nil {
		body := filepath.Join(b.dir, "body")
		if err := os.WriteFile(body, b.load.Body, 0o600); err != nil {
			return err
		}
		args = append(args, "--load-body", body)
	}
	_, err := programs.Output(ctx, "", plain, append(append(args, "--"), b.command...)...)
	return err
}

// answer is what a search found, as cells of the table.
func (b *bench) answer(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r, err := result.Read(file, data)
	if err != nil {
		return nil, err
	}
	f := r.Program()
	took := unit.ElapsedSeconds(f.ElapsedSeconds)
	if len(f.Recommendations) == 0 {
		return []string{f.Ended, "", "", fmt.Sprint(r.Samples()), took}, nil
	}
	rec := f.Recommendations[0]
	change := func(e *result.Estimate) string {
		if e == nil || e.Lo == nil || e.Hi == nil {
			return ""
		}
		return fmt.Sprintf("%s [%s, %s]", unit.Change(e.Ratio), unit.Change(*e.Lo), unit.Change(*e.Hi))
	}
	var compared []string
	for _, a := range f.Arms[1:] {
		if a.Final != nil && change(a.Final.Ratio) != "" {
			compared = append(compared, a.Name+" "+change(a.Final.Ratio))
		}
	}
	out := []string{rec.Arm + " (" + string(f.Answer.State) + ")", strings.Join(compared, ", "), change(rec.Memory), fmt.Sprint(r.Samples()), took}
	if f.Live != nil {
		out = append(out, b.latencies(f)...)
	}
	return out, nil
}
