package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/internal/base/input"
)

// requestFlags are what a load consists of: those of folio load, and, with load- before
// their names, of the commands that start a server.
type requestFlags struct {
	rate                      string
	duration, warmup, timeout time.Duration
	arrivals                  string
	seed                      uint64
	connections, maxInFlight  int
	method, body, http, grpc  string
	headers                   []string
	insecure                  bool

	prefix string
	given  *pflag.FlagSet
}

// rateAuto is the --rate that is to be found.
const rateAuto = "auto"

// loadPrefix is before the names of the flags of a load where others have those names.
const loadPrefix = "load-"

// add adds the flags, but for the rate. Those of a load that folio puts on a server have a
// prefix.
func (f *requestFlags) add(fs *pflag.FlagSet, prefix string, warmup time.Duration) {
	f.given, f.prefix = fs, prefix
	fs.DurationVar(&f.duration, prefix+"duration", 10*time.Second, "`duration` of the measured load")
	fs.DurationVar(&f.warmup, prefix+"warmup", warmup, "`duration` of the load before that, at the same rate, not measured")
	fs.DurationVar(&f.timeout, prefix+"timeout", load.DefaultTimeout, "requests not answered within this `duration` of their intended start fail")
	fs.IntVar(&f.connections, prefix+"connections", 0, "`n` connections per host (default as many as needed)")
	fs.IntVar(&f.maxInFlight, prefix+"max-in-flight", load.DefaultMaxInFlight, "at most `n` requests in flight; further ones count as failed")
	fs.StringVar(&f.arrivals, prefix+"arrivals", load.Constant, "arrival times, a `kind`: constant or poisson")
	fs.Uint64Var(&f.seed, prefix+"seed", 1, "seed `n` of poisson arrivals")
	fs.StringVar(&f.method, prefix+"method", "", "request `method` (default GET, with --"+prefix+"body POST)")
	fs.StringArrayVar(&f.headers, prefix+"header", nil, "request `header`, as 'Name: value' (repeatable)")
	fs.StringVar(&f.body, prefix+"body", "", "`file` with the body of each request")
	fs.StringVar(&f.http, prefix+"http", "", "HTTP `version`: 1 or 2 (default 2 where TLS offers it, else 1)")
	fs.StringVar(&f.grpc, prefix+"grpc", "", "call a unary gRPC `method`, package.Service/Method; --"+prefix+"body is the protobuf message\n(default an empty one)")
	of := ""
	if prefix != "" {
		of = ", of --ready https:// also"
	}
	fs.BoolVar(&f.insecure, prefix+"insecure", false, "accept any TLS certificate"+of)
}

// names are the flags that add adds, without the prefix.
var requestNames = []string{"duration", "warmup", "timeout", "connections", "max-in-flight", "arrivals", "seed", "method", "header",
	"body", "http", "grpc", "insecure"}

// changed says whether a flag was given, by its name without the prefix.
func (f *requestFlags) changed(name string) bool { return f.given.Changed(f.prefix + name) }

// options checks the flags. Of the rate auto, that of the result is 1, until it is known.
func (f *requestFlags) options(urls []string) (o load.Options, err error) {
	o, err = f.parse(urls)
	if err == nil {
		err = o.Check()
	}
	var file *fs.PathError
	if err != nil && f.prefix != "" && !errors.As(err, &file) {
		text := err.Error()
		for _, name := range requestNames {
			text = strings.ReplaceAll(text, "--"+name, "--"+f.prefix+name)
		}
		err = errors.New(text)
	}
	return o, err
}

func (f *requestFlags) parse(urls []string) (o load.Options, err error) {
	o = load.Options{
		URLs: urls, Method: f.method, HTTP: f.http, GRPC: f.grpc, Rate: 1, Duration: f.duration, Warmup: f.warmup, Timeout: f.timeout,
		Arrivals: f.arrivals, Seed: f.seed, Connections: f.connections, MaxInFlight: f.maxInFlight,
	}
	if f.rate != rateAuto {
		if o.Rate, err = strconv.ParseFloat(f.rate, 64); err != nil {
			return o, fmt.Errorf("--rate %q: want requests per second, such as 2000%s", f.rate, f.orAuto())
		}
	}
	switch {
	case f.timeout == 0 || f.maxInFlight == 0 || f.connections == 0 && f.changed("connections"):
		return o, errors.New("--timeout, --max-in-flight and --connections must be more than 0")
	case f.http == load.Negotiated:
		return o, errors.New("--http negotiated: leave --http out")
	case f.changed("seed") && f.arrivals != load.Poisson:
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
			return o, fmt.Errorf("--%sbody %w", f.prefix, err)
		}
	}
	o.TLS = f.tls()
	return o, nil
}

// tls is how the server's certificate is checked; nil for the default.
func (f *requestFlags) tls() *tls.Config {
	if !f.insecure {
		return nil
	}
	return &tls.Config{InsecureSkipVerify: true}
}

func (f *requestFlags) orAuto() string {
	if f.prefix == "" {
		return ""
	}
	return ", or auto"
}

// A serverLoad is what puts a server under load: requests by folio, or a command of the
// user's.
type serverLoad struct {
	requestFlags
	command string
	targets []string
}

func (f *serverLoad) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.rate, "rate", "", "`n` requests per second by folio; auto: 70% of the most it sustains")
	fs.StringArrayVar(&f.targets, "target", nil, "`URL` to request (repeatable: requested in turn; default that of --ready)")
	f.requestFlags.add(fs, loadPrefix, 2*time.Second)
	fs.StringVar(&f.command, "load", "", "load the server with this shell `command` instead")
}

// check says what is wrong with the flags, and returns the load by folio; nil for none. running
// says that the server runs already.
func (f *serverLoad) check(ready string, running bool) (*load.Options, error) {
	rate := f.given.Changed("rate")
	for _, name := range append([]string{"target"}, prefixed(requestNames)...) {
		ofReady := name == loadPrefix+"insecure" && strings.HasPrefix(ready, "https://")
		if f.given.Changed(name) && !rate && !ofReady {
			return nil, fmt.Errorf("--%s goes with --rate: add the requests per second, such as --rate 500", name)
		}
	}
	switch {
	case running && rate && (f.rate == rateAuto || f.changed("duration") || f.changed("warmup")):
		return nil, errors.New("--rate with --attach: it is a number, and the load lasts as long as the search: leave --load-duration and --load-warmup out")
	case running && rate && len(f.targets) == 0:
		return nil, errors.New("--rate needs --target URL")
	case running:
	case rate && f.command != "":
		return nil, errors.New("--rate and --load: give one: --rate is folio's own load")
	case rate && ready == "":
		return nil, errors.New("--rate needs --ready: add the address at which the server answers, such as --ready http://127.0.0.1:8080/")
	case ready != "" && f.command == "" && !rate:
		return nil, errors.New("--ready needs --rate or --load: add the requests per second, such as --rate 500")
	case f.command != "" && ready == "":
		return nil, errors.New("--load needs --ready: add the address at which the server answers, such as --ready http://127.0.0.1:8080/")
	}
	if !rate {
		return nil, nil
	}
	targets := slices.Clone(f.targets)
	if len(targets) == 0 {
		if strings.HasPrefix(ready, "tcp:") {
			return nil, fmt.Errorf("--rate needs --target URL: --ready %s is not a URL", ready)
		}
		targets = []string{ready}
	}
	o, err := f.options(targets)
	if err != nil {
		return nil, err
	}
	return &o, nil
}

func prefixed(names []string) (out []string) {
	for _, n := range names {
		out = append(out, loadPrefix+n)
	}
	return out
}

// findRate searches the rate of --rate auto, with a program. It returns the
// rates that were tried.
func (m *measurement) findRate(ctx context.Context, a *app, f *programFlags, p *trial.Program) ([]load.RateStep, error) {
	generator := m.generator()
	if generator == nil || f.load.rate != rateAuto {
		return nil, nil
	}
	progress := newProgress(a.stderr)
	defer progress.Clear()
	progress.Show("--rate auto: searching")
	found, err := p.FindRate(ctx, m.base, func(step load.RateStep) { progress.Show("--rate auto: " + step.String()) })
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, errNothing
	case err != nil:
		return nil, err
	}
	generator.Rate = found.Rate
	if err := generator.Check(); err != nil {
		return nil, fmt.Errorf("--rate auto found %v requests/s: %w", found.Rate, err)
	}
	m.notes.Add(found.Text())
	return found.Steps, nil
}
