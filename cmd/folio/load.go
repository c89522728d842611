package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/system/host"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/trial/load"
	"github.com/foliomem/folio/internal/view/report"
)

type loadFlags struct {
	rate                      float64
	duration, warmup, timeout time.Duration
	arrivals                  string
	seed                      uint64
	connections, maxInFlight  int
	method, body, http        string
	headers                   []string
	insecure, strict          bool
	json                      string
	redact                    bool

	given *pflag.FlagSet
}

const loadLong = `Put a fixed rate of requests on a server, and measure the tail of its latency.

The load is open: requests start at times fixed beforehand, --rate a second,
whatever the server does. The latency of each counts from its intended start, so
a stall of the server is seen by all requests that came meanwhile. Every request
counts: those that were not sent, not answered within --timeout, or answered with
a status other than 2xx and 3xx failed, and rank above all answers in the
percentiles; a percentile among them is printed as "failed".

Folio also measures how late it started requests itself. Where that shows in the
latencies, the run is marked LATE ("late": true in the JSON) and does not count.

HTTP/1.1, HTTP/2 over TLS where the server offers it, and h2c with --http 2.
Several URLs are requested in turn. Redirects are not followed.

Exit codes: 0 measured; 1 no connection, or no request succeeded; 2 wrong use; 3
with --strict, the generator was late; 130 interrupted, after saying what was
measured until then.`

func newLoad(a *app) *cobra.Command {
	f := &loadFlags{}
	cmd := &cobra.Command{
		Use:   "load [flags] URL...",
		Short: "Put a fixed rate of requests on a server, and measure its latency",
		Long:  loadLong,
		Example: `  folio load --rate 2000 --duration 10s --warmup 2s http://127.0.0.1:8080/
  folio load --rate 500 --arrivals poisson --json load.json http://127.0.0.1:8080/
  folio load --rate 200 --header 'Content-Type: application/json' --body request.json http://127.0.0.1:8080/
  folio tune --ready http://127.0.0.1:8080/ --load 'folio load --rate 500 --duration 2s http://127.0.0.1:8080/' --metric 'p99=p99 (\S+)' -- ./server`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.load(cmd.Context(), f, args) },
	}
	fs := cmd.Flags()
	f.given = fs
	fs.SortFlags = false
	fs.Float64Var(&f.rate, "rate", 0, "requests per second, `n`")
	fs.DurationVar(&f.duration, "duration", 10*time.Second, "`duration` of what is measured")
	fs.DurationVar(&f.warmup, "warmup", 0, "`duration` before it, at the same rate, not measured")
	fs.DurationVar(&f.timeout, "timeout", load.DefaultTimeout, "`duration` within which a request must be answered, from its intended start")
	fs.IntVar(&f.connections, "connections", 0, "`n` connections to each host (default as many as needed)")
	fs.IntVar(&f.maxInFlight, "max-in-flight", load.DefaultMaxInFlight, "`n` requests under way at most; those beyond are not sent, and failed")
	fs.StringVar(&f.arrivals, "arrivals", load.Constant, "arrival `process`: constant, or poisson")
	fs.Uint64Var(&f.seed, "seed", 1, "seed `n` of poisson arrivals")
	fs.StringVar(&f.method, "method", "", "request `method` (default GET, with --body POST)")
	fs.StringArrayVar(&f.headers, "header", nil, "request `header`, as 'Name: value'; may be given several times")
	fs.StringVar(&f.body, "body", "", "`file` with the body of each request")
	fs.StringVar(&f.http, "http", "", "`version` of HTTP: 1, or 2 (default 2 where TLS offers it, else 1)")
	fs.BoolVar(&f.insecure, "insecure", false, "accept any TLS certificate")
	fs.BoolVar(&f.strict, "strict", false, "exit with 3 when the generator was late")
	fs.StringVar(&f.json, "json", "", "write the result to `file` as JSON (- for standard output), with the histogram")
	redactFlag(fs, &f.redact)
	return cmd
}

// options checks the flags that the load itself does not.
func (f *loadFlags) options(urls []string) (o load.Options, err error) {
	o = load.Options{
		URLs: urls, Method: f.method, HTTP: f.http, Rate: f.rate, Duration: f.duration, Warmup: f.warmup, Timeout: f.timeout,
		Arrivals: f.arrivals, Seed: f.seed, Connections: f.connections, MaxInFlight: f.maxInFlight,
	}
	switch {
	case len(urls) == 0:
		return o, errors.New("load: no URL given: folio load --rate 1000 http://127.0.0.1:8080/")
	case !f.given.Changed("rate"):
		return o, errors.New("load: --rate is not given: how many requests a second?")
	case f.timeout == 0 || f.maxInFlight == 0 || f.connections == 0 && f.given.Changed("connections"):
		return o, errors.New("load: --timeout, --max-in-flight and --connections must be more than 0")
	case f.http == load.Negotiated:
		return o, errors.New("--http negotiated: leave --http out")
	case f.given.Changed("seed") && f.arrivals != load.Poisson:
		return o, errors.New("--seed: constant arrivals need none; use it with --arrivals poisson")
	}
	for _, s := range f.headers {
		h, err := load.ParseHeader(s)
		if err != nil {
			return o, fmt.Errorf("--header %w", err)
		}
		o.Headers = append(o.Headers, h)
	}
	if f.body != "" {
		if o.Body, err = input.ReadFile(f.body, input.MaxBody); err != nil {
			return o, fmt.Errorf("--body: %w", err)
		}
	}
	if f.insecure {
		o.TLS = &tls.Config{InsecureSkipVerify: true}
	}
	return o, o.Check()
}

func (a *app) load(ctx context.Context, f *loadFlags, urls []string) (err error) {
	o, err := f.options(urls)
	if err != nil {
		return misuse(err)
	}
	out, _, err := a.openResults(f.json, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	info, warnings := host.Read(procmem.New(""))
	ctx, stop := interruptible(ctx)
	defer stop()
	r, err := load.Run(ctx, o)
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.Join(exitCode(exitInterrupted), errors.New("interrupted before anything was measured"))
	case err != nil:
		return fmt.Errorf("load: %w", err)
	}
	file := result.NewLoad(version(), r)
	file.Host = info
	for _, w := range warnings {
		file.Notes = append(file.Notes, w.Error())
	}
	if file, err = shown(file, f.redact); err != nil {
		return err
	}
	var written error // the text is shown all the same
	if out != nil {
		data, jerr := file.JSON()
		if written = jerr; jerr == nil {
			written = out.Write(data)
		}
	}
	text := io.Writer(a.stdout)
	if out.IsStdout() {
		text = a.stderr
	}
	return errors.Join(report.Load(text, file), written, f.verdict(r))
}

// verdict is how a load that ran ends.
func (f *loadFlags) verdict(r *load.Result) error {
	switch {
	case !r.Complete:
		return exitCode(exitInterrupted)
	case r.Intended > 0 && r.Succeeded == 0:
		first := ""
		if len(r.Errors) > 0 {
			first = ": " + r.Errors[0].Text
		}
		return errors.New("load: no request succeeded" + first)
	case f.strict && r.Late:
		return exitCode(exitNoisy)
	}
	return nil
}
