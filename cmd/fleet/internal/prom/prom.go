// Package prom asks a server with the API of Prometheus. It sends few queries, one after
// the other, and says in one line what is wrong with an answer.
package prom

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
)

// MaxAnswer is the most bytes of an answer that are read.
const MaxAnswer = 256 << 20

// A Client asks one server. It may be used by several goroutines.
type Client struct {
	api     v1.API
	url     string
	matcher string
	timeout time.Duration

	mu       sync.Mutex
	warnings []string
	queries  int
}

// New makes a client. Its error is a mistake in the options.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		text := o.URL
		if err == nil {
			text = u.Redacted()
		}
		return nil, fmt.Errorf("--prometheus %q: want http://HOST[:PORT][/PATH] or https://..., without a user", text)
	}
	switch {
	case o.TokenFile != "" && u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("--token-file with %s://%s: a token is not sent in the clear to other machines than this; use https", u.Scheme, u.Host)
	case (o.CertFile == "") != (o.KeyFile == ""):
		return nil, errors.New("--cert-file and --key-file come together")
	case o.Timeout <= 0:
		return nil, fmt.Errorf("--timeout %v: want more than 0", o.Timeout)
	case strings.ContainsAny(o.Matcher, "{}\n"):
		return nil, fmt.Errorf(`--matcher %q: want label="value", separated by commas, without braces`, o.Matcher)
	}
	for flag, path := range map[string]string{"--token-file": o.TokenFile, "--ca-file": o.CAFile, "--cert-file": o.CertFile, "--key-file": o.KeyFile} {
		if err := readable(path); err != nil {
			return nil, fmt.Errorf("%s: cannot read %s: %w", flag, path, err)
		}
	}
	c := config.HTTPClientConfig{FollowRedirects: true, EnableHTTP2: true, TLSConfig: config.TLSConfig{
		CAFile: o.CAFile, CertFile: o.CertFile, KeyFile: o.KeyFile, ServerName: o.ServerName,
	}}
	if o.TokenFile != "" {
		c.Authorization = &config.Authorization{Type: "Bearer", CredentialsFile: o.TokenFile}
	}
	headers := http.Header{}
	for _, h := range o.Headers {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(h, "\r\n") || http.CanonicalHeaderKey(name) == "Authorization" {
			return nil, fmt.Errorf("--header %q: want 'NAME: VALUE'; a token belongs into --token-file", h)
		}
		headers.Add(name, strings.TrimSpace(value))
	}
	transport, err := config.NewRoundTripperFromConfig(c, "folio-fleet")
	if err != nil {
		return nil, err
	}
	client, err := api.NewClient(api.Config{Address: o.URL, RoundTripper: &bounded{transport, headers}})
	if err != nil {
		return nil, err
	}
	return &Client{api: v1.NewAPI(client), url: u.Redacted(), matcher: strings.Trim(o.Matcher, ", "), timeout: o.Timeout}, nil
}

// readable returns why a file cannot be read. "" is not a file.
func readable(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err == nil {
		return f.Close()
	}
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// bounded sets headers, and ends answers that are too long.
type bounded struct {
	http.RoundTripper
	headers http.Header
}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range b.headers {
		r.Header[name] = values
	}
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &body{resp.Body, MaxAnswer}
	}
	return resp, err
}

type body struct {
	io.ReadCloser
	left int64
}

var errTooLong = fmt.Errorf("the answer has more than %d MiB", MaxAnswer>>20)

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, errTooLong
	}
	return n, err
}

// Select returns a selector of a recorded series, with the matcher of the options. Values
// of more are quoted here.
func (c *Client) Select(name string, more ...Match) string {
	var in []string
	if c.matcher != "" {
		in = append(in, c.matcher)
	}
	for _, m := range more {
		in = append(in, m.Label+m.op()+quote(m.Value))
	}
	return name + "{" + strings.Join(in, ", ") + "}"
}

// A Match is a label and its value, or a regular expression of it.
type Match struct {
	Label, Value string
	Regexp       bool
}

func (m Match) op() string {
	if m.Regexp {
		return "=~"
	}
	return "="
}

// quote returns a string of PromQL, whatever is in it.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range []byte(s) {
		if r == '"' || r == '\\' || r < ' ' {
			fmt.Fprintf(&b, `\x%02x`, r)
		} else {
			b.WriteByte(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Warnings are what the server said of its answers, each once: Thanos and Mimir warn of
// parts that did not answer.
func (c *Client) Warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.warnings)
}

// Queries is how many were sent.
func (c *Client) Queries() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queries
}

// A Sample is one value of a vector.
type Sample struct {
	Labels map[string]string
	Value  float64
	Time   time.Time
}

// Instant asks for a vector at a time; the zero time is now, by the server's clock.
func (c *Client) Instant(ctx context.Context, query string, at time.Time) ([]Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	v, warnings, _, err := c.api.Query(ctx, query, at)
	c.asked(warnings)
	if err != nil {
		return nil, c.explain(err)
	}
	vector, ok := v.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("%s answered with a %s, want a vector", c.url, v.Type())
	}
	out := make([]Sample, 0, len(vector))
	for _, s := range vector {
		out = append(out, Sample{labels(s.Metric), float64(s.Value), s.Timestamp.Time()})
	}
	return out, nil
}

// A Series is values over time.
type Series struct {
	Labels map[string]string
	Times  []time.Time
	Values []float64
}

// Range asks for values at steps between two times.
func (c *Client) Range(ctx context.Context, query string, from, to time.Time, step time.Duration) ([]Series, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	v, warnings, _, err := c.api.QueryRange(ctx, query, v1.Range{Start: from, End: to, Step: step})
	c.asked(warnings)
	if err != nil {
		return nil, c.explain(err)
	}
	matrix, ok := v.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("%s answered with a %s, want a matrix", c.url, v.Type())
	}
	out := make([]Series, 0, len(matrix))
	for _, s := range matrix {
		one := Series{Labels: labels(s.Metric), Times: make([]time.Time, 0, len(s.Values)), Values: make([]float64, 0, len(s.Values))}
		for _, p := range s.Values {
			one.Times, one.Values = append(one.Times, p.Timestamp.Time()), append(one.Values, float64(p.Value))
		}
		out = append(out, one)
	}
	return out, nil
}

func labels(m model.Metric) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[string(k)] = string(v)
	}
	return out
}

func (c *Client) asked(all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queries++
	for _, w := range all {
		if len(c.warnings) < 20 && !slices.Contains(c.warnings, w) {
			c.warnings = append(c.warnings, w)
		}
	}
}

// explain says what an error of the API means.
func (c *Client) explain(err error) error {
	var e *v1.Error
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err // without the address, which is said already
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer within %v; raise --timeout", c.url, c.timeout)
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &e):
		return fmt.Errorf("%s: %s", c.url, meaning(e))
	case errors.As(err, &certificate):
		return fmt.Errorf("cannot trust %s: %w; see --ca-file and --server-name", c.url, certificate.Err)
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s does not speak TLS; use http://", c.url)
	case errors.As(err, &network):
		return fmt.Errorf("cannot reach %s: %v", c.url, network.Err)
	}
	return fmt.Errorf("cannot ask %s: %w", c.url, err)
}

func meaning(e *v1.Error) string {
	switch {
	case strings.HasSuffix(e.Msg, ": 401"):
		return "the server refuses the request (401): the token is missing, wrong or expired; see --token-file"
	case strings.HasSuffix(e.Msg, ": 403"):
		return "the server refuses the request (403): the token has no right to read metrics"
	case strings.HasSuffix(e.Msg, ": 404"), e.Type == v1.ErrBadResponse:
		return "this is not the API of Prometheus; is a path missing in the URL, such as /prometheus? (" + e.Msg + ")"
	case e.Type == v1.ErrExec, e.Type == v1.ErrTimeout:
		return "the server ended the query: " + e.Msg + "; ask for a shorter --window"
	}
	return e.Msg
}

// AnyOf is a regular expression that matches each of some values and nothing else.
func AnyOf(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = regexp.QuoteMeta(v)
	}
	return strings.Join(quoted, "|")
}
