package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/view/text"
	"github.com/foliomem/folio/internal/system/procmem"
)

type loadFlags struct {
	requestFlags
	resultFlags
	strict bool
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

Exit codes: 0 measured; 1 no connection, most requests failed, or the file of
--body cannot be read; 2 wrong usage; 3 with --strict, the generator was late; 130
interrupted, after printing what was measured so far.`

func newLoad(a *app) *cobra.Command {
	f := &loadFlags{}
	cmd := &cobra.Command{
		Use:   "load [flags] URL...",
		Short: "Put a fixed rate of requests on a server, and measure its latency",
		Long:  loadLong,
		Example: `  folio load --rate 2000 --duration 10s --warmup 2s http://127.0.0.1:8080/
  folio load --rate 500 --arrivals poisson --json load.json http://127.0.0.1:8080/
  folio load --rate 200 --header 'Accept: text/html' --body request.json http://127.0.0.1:8080/
  folio tune --ready http://127.0.0.1:8080/ --rate 500 -- ./server`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.load(cmd.Context(), f, args) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.rate, "rate", "", "`n` requests per second")
	f.requestFlags.add(fs, "", 0)
	fs.BoolVar(&f.strict, "strict", false, "exit with 3 when the generator was late")
	f.resultFlags.add(fs, "the result, with the histogram,")
	return cmd
}

// options checks the flags.
func (f *loadFlags) options(urls []string) (load.Options, error) {
	switch {
	case len(urls) == 0:
		return load.Options{}, errors.New("load: no URL given: folio load --rate 1000 http://127.0.0.1:8080/")
	case !f.given.Changed("rate"):
		return load.Options{}, errors.New("load: --rate is missing: add the requests per second, such as --rate 500")
	case f.rate == rateAuto:
		return load.Options{}, errors.New("--rate auto: of a server that runs already it is not searched: give a number")
	}
	return f.requestFlags.options(urls)
}

func (a *app) load(ctx context.Context, f *loadFlags, urls []string) (err error) {
	o, err := f.options(urls)
	if err != nil {
		return misuse(err)
	}
	out, err := a.openOutputs(f.files()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	info, notes := host.Read(procmem.New(""))
	ctx, stop := interruptible(ctx)
	defer stop()
	release := load.HoldGC(&o)
	r, err := load.Run(ctx, o)
	release()
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.Join(exitCode(exitInterrupted), errors.New("interrupted before anything was measured"))
	case err != nil:
		return fmt.Errorf("load: %w", err)
	}
	file := result.NewLoad(version(), r)
	file.Host = info
	file.Notes = append(file.Notes, notes...)
	return errors.Join(finish(a, out, file, f.resultFlags, a.stderr, text.Options{}), f.verdict(r))
}

// verdict is how a load that ran ends.
func (f *loadFlags) verdict(r *load.Result) error {
	switch {
	case !r.Complete:
		return exitCode(exitInterrupted)
	case r.Unusable() != "":
		return fmt.Errorf("load: %d of %d requests failed", r.Intended-r.Succeeded, r.Intended)
	case f.strict && r.Late:
		return exitCode(exitNoisy)
	}
	return nil
}
