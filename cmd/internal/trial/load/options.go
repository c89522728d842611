package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/internal/base/unit"
)

// Arrival processes.
const (
	Constant = "constant" // every 1/rate
	Poisson  = "poisson"  // independent of each other, as of many users
)

// Versions of HTTP.
const (
	Negotiated = "negotiated" // HTTP/2 where TLS offers it, else HTTP/1.1
	HTTP1      = "1"
	HTTP2      = "2" // over TLS, or with prior knowledge (h2c)
)

// Defaults and bounds of options.
const (
	DefaultTimeout     = 5 * time.Second
	DefaultMaxInFlight = 10_000

	MaxRate     = 1e6
	MaxTimeout  = time.Hour // the longest latency that histograms hold
	MaxDuration = 24 * time.Hour
	MaxRequests = 1e9
	MaxConns    = 1 << 16
)

// Options say what load to put on what.
type Options struct {
	URLs    []string // requested in turn
	Method  string   // default GET, with a body POST
	Headers []Header
	Body    []byte
	HTTP    string // default Negotiated
	// GRPC is a unary method, package.Service/Method: the requests are calls of it, over
	// HTTP/2, and Body is their message.
	GRPC string

	Rate     float64       // requests per second
	Duration time.Duration // of what is measured
	Warmup   time.Duration // before it, at the same rate, not measured
	Arrivals string        // default Constant
	Seed     uint64        // of Poisson arrivals

	// Timeout bounds each request, from its intended start.
	Timeout time.Duration
	// Connections is how many connections each host gets; 0 for as many as requests are
	// in flight (HTTP/1.1), or as the host's limit of streams needs (HTTP/2).
	Connections int
	// MaxInFlight is how many requests may be in flight. An arrival beyond it is not sent.
	MaxInFlight int
	TLS         *tls.Config // nil for the default

	// Measuring, when set, is called once when the warm-up ends, beside the load: it does
	// not hold up requests. [Run] returns after it.
	Measuring func()

	// Each, when set, is told of every request when it ends, the warm-up's included: how late it
	// started, how long it took from its intended start, and whether it failed. Calls overlap.
	Each func(late, took time.Duration, failed bool)

	// For tests: how to wait and to dial.
	wait func(until time.Time) bool
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// A Header is a header of every request.
type Header struct{ Name, Value string }

// ParseHeader reads "Name: value".
func ParseHeader(s string) (Header, error) {
	name, value, ok := strings.Cut(s, ":")
	value = strings.TrimSpace(value)
	switch {
	case !ok:
		return Header{}, fmt.Errorf("%q: want 'Name: value'", s)
	case name == "" || strings.ContainsFunc(name, notInName):
		return Header{}, fmt.Errorf("%q: %q is not the name of a header", s, name)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return Header{}, fmt.Errorf("%q: the value has control characters", s)
	}
	switch name = http.CanonicalHeaderKey(name); name {
	case "Content-Length", "Transfer-Encoding", "Trailer": // net/http would leave them out
		return Header{}, fmt.Errorf("%q: %s follows from the body, and cannot be set", s, name)
	}
	return Header{name, value}, nil
}

// notInName says that r is not a character of a token (RFC 9110, section 5.6.2).
func notInName(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// Check says what is wrong with options, before anything is done.
func (o *Options) Check() error {
	c := *o
	_, err := c.complete()
	return err
}

// complete fills in defaults, and returns the URLs. The error says what cannot be.
func (o *Options) complete() ([]*url.URL, error) {
	if o.GRPC != "" {
		if err := o.checkGRPC(); err != nil {
			return nil, err
		}
	}
	o.HTTP, o.Arrivals = orDefault(o.HTTP, Negotiated), orDefault(o.Arrivals, Constant)
	if o.Method == "" {
		o.Method = http.MethodGet
		if o.Body != nil {
			o.Method = http.MethodPost
		}
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = DefaultMaxInFlight
	}
	switch {
	case !(o.Rate > 0 && o.Rate <= MaxRate):
		return nil, fmt.Errorf("--rate %v: want requests per second, more than 0 and at most 1,000,000", o.Rate)
	case o.Duration <= 0 || o.Duration > MaxDuration:
		return nil, fmt.Errorf("--duration %v: must be more than 0 and at most %s", o.Duration, unit.Span(MaxDuration))
	case o.Warmup < 0 || o.Warmup > MaxDuration:
		return nil, fmt.Errorf("--warmup %v: must be from 0 to %s", o.Warmup, unit.Span(MaxDuration))
	case o.Rate*(o.Warmup+o.Duration).Seconds() > MaxRequests:
		return nil, errors.New("--rate times --duration is more than 1,000,000,000 requests")
	case o.Timeout < time.Millisecond || o.Timeout > MaxTimeout:
		return nil, fmt.Errorf("--timeout %v: must be from 1ms to %s", o.Timeout, unit.Span(MaxTimeout))
	case o.Connections < 0 || o.Connections > MaxConns:
		return nil, fmt.Errorf("--connections %d: must be from 1 to %d", o.Connections, MaxConns)
	case o.MaxInFlight < 1 || o.MaxInFlight > MaxConns:
		return nil, fmt.Errorf("--max-in-flight %d: must be from 1 to %d", o.MaxInFlight, MaxConns)
	case o.Arrivals != Constant && o.Arrivals != Poisson:
		return nil, fmt.Errorf("--arrivals %q: want constant or poisson", o.Arrivals)
	case !slices.Contains([]string{Negotiated, HTTP1, HTTP2}, o.HTTP):
		return nil, fmt.Errorf("--http %q: want 1 or 2", o.HTTP)
	case strings.ContainsFunc(o.Method, notInName):
		return nil, fmt.Errorf("--method %q: not a method of HTTP", o.Method)
	case o.Method == http.MethodConnect:
		return nil, errors.New("--method CONNECT: asks for a tunnel, not for an answer")
	case len(o.URLs) == 0:
		return nil, errors.New("no URL given")
	}
	var urls []*url.URL
	for _, s := range o.URLs {
		u, err := parseURL(s)
		if err != nil {
			return nil, err
		}
		if o.GRPC != "" {
			if err := o.callURL(u); err != nil {
				return nil, err
			}
		}
		urls = append(urls, u)
	}
	return urls, nil
}

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is not a URL: want http://HOST:PORT/PATH or https://HOST:PORT/PATH", s)
	}
	if _, err := net.LookupPort("tcp", portOf(u)); err != nil {
		return nil, fmt.Errorf("%q: no such port", s)
	}
	u.Fragment = ""
	return u, nil
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// Settings are the options as a result has them.
type Settings struct {
	URLs        []string `json:"urls" redact:"named"` // without passwords
	Method      string   `json:"method" redact:"keep"`
	HeaderNames []string `json:"header_names" redact:"blank"` // values may be secret
	BodyBytes   int      `json:"body_bytes"`
	HTTP        string   `json:"http" redact:"keep"`
	GRPC        string   `json:"grpc,omitempty" redact:"blank"` // the method called

	Rate     float64 `json:"rate_per_second"`
	Arrivals string  `json:"arrivals" redact:"keep"`
	Seed     *uint64 `json:"seed"` // null for constant arrivals
	Duration float64 `json:"duration_seconds"`
	Warmup   float64 `json:"warmup_seconds"`

	Timeout     float64 `json:"timeout_seconds"`
	Connections *int    `json:"connections"` // null: as many as needed
	MaxInFlight int     `json:"max_in_flight"`
}

// Settings returns the options as a result has them, defaults filled in. They must be
// right: see [Options.Check].
func (o *Options) Settings() Settings {
	c := *o
	urls, err := c.complete()
	if err != nil {
		panic("load: " + err.Error())
	}
	return c.settings(urls)
}

func (o *Options) settings(urls []*url.URL) Settings {
	s := Settings{
		URLs: []string{}, Method: o.Method, HeaderNames: []string{}, BodyBytes: len(o.Body), HTTP: o.HTTP, GRPC: o.GRPC,
		Rate: o.Rate, Arrivals: o.Arrivals, Duration: o.Duration.Seconds(), Warmup: o.Warmup.Seconds(),
		Timeout: o.Timeout.Seconds(), MaxInFlight: o.MaxInFlight,
	}
	for _, u := range urls {
		s.URLs = append(s.URLs, u.Redacted())
	}
	for _, h := range o.Headers {
		s.HeaderNames = append(s.HeaderNames, h.Name)
	}
	if o.Arrivals == Poisson {
		s.Seed = new(o.Seed)
	}
	if o.Connections > 0 {
		s.Connections = new(o.Connections)
	}
	return s
}

// target is a URL as it was given: that of a call has the method as its path.
func (s *Settings) target(u string) string {
	if s.GRPC == "" {
		return u
	}
	return strings.TrimSuffix(u, "/"+s.GRPC)
}

// Flags returns the flags of folio run, tune and ab that say the same. What results do not
// keep stands for itself: values of headers, and the body.
func (s *Settings) Flags() []string {
	out := []string{"--rate", strconv.FormatFloat(s.Rate, 'f', -1, 64)}
	for _, u := range s.URLs {
		out = append(out, "--target", s.target(u))
	}
	add := func(flag, value, def string) {
		if value != def {
			out = append(out, flag, value)
		}
	}
	method := http.MethodGet
	if s.BodyBytes > 0 {
		method = http.MethodPost
	}
	out = append(out, "--load-duration", unit.SpanSeconds(s.Duration), "--load-warmup", unit.SpanSeconds(s.Warmup))
	add("--load-timeout", unit.SpanSeconds(s.Timeout), unit.Span(DefaultTimeout))
	add("--load-max-in-flight", strconv.Itoa(s.MaxInFlight), strconv.Itoa(DefaultMaxInFlight))
	if s.Connections != nil {
		add("--load-connections", strconv.Itoa(*s.Connections), "")
	}
	add("--load-arrivals", s.Arrivals, Constant)
	if s.Seed != nil {
		add("--load-seed", strconv.FormatUint(*s.Seed, 10), "1")
	}
	if s.GRPC != "" {
		add("--load-grpc", s.GRPC, "")
	} else {
		add("--load-method", s.Method, method)
	}
	for _, h := range s.HeaderNames {
		add("--load-header", h+": VALUE", "")
	}
	if s.BodyBytes > 0 {
		add("--load-body", "BODY_FILE", "")
	}
	if s.GRPC == "" {
		add("--load-http", s.HTTP, Negotiated)
	}
	return out
}

// requests returns how many requests arrivals at a constant rate are in a time: those
// at i/rate that are before its end.
func requests(rate float64, d time.Duration) int64 {
	// A product such as 0.1*30 is a little more than the whole number that it is.
	return int64(math.Ceil(rate * d.Seconds() * (1 - 1e-12)))
}
