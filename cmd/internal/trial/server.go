package trial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial/load"
)

// A Server makes a trial of a program that serves: it is started, waited for,
// put under load by folio or a second command, and stopped.
type Server struct {
	Ready        *Ready
	ReadyTimeout time.Duration // default 60 s
	Load         string        // a shell command (sh -c); its output is where metrics are found
	// Generator, when set, is the load instead: folio itself puts it on the server. What
	// comes before the end of its warm-up is in no figure but the peaks of memory.
	Generator   *load.Options
	StopTimeout time.Duration // between TERM and KILL; default 10 s

	run func(context.Context, load.Options) (*load.Result, error) // of tests: instead of load.Run
}

// loadPrefix is what flags of folio load begin with in the commands that start the server.
const loadPrefix = "load-"

func (s *Server) readyTimeout() time.Duration {
	if s.ReadyTimeout > 0 {
		return s.ReadyTimeout
	}
	return 60 * time.Second
}

func (s *Server) stopTimeout() time.Duration {
	if s.StopTimeout > 0 {
		return s.StopTimeout
	}
	return 10 * time.Second
}

// Ready is how to see that a server answers.
type Ready struct {
	text string
	addr string // host:port
	url  string // "" for a TCP connection alone

	TLS *tls.Config // of https; nil for the default
}

// ParseReady reads a --ready flag: tcp:HOST:PORT, or an http:// or https:// URL
// that must answer with a status below 400.
func ParseReady(s string) (*Ready, error) {
	bad := func(why string) error {
		return fmt.Errorf("--ready %q: %s: want tcp:HOST:PORT or http://HOST:PORT/PATH", s, why)
	}
	if addr, ok := strings.CutPrefix(s, "tcp:"); ok {
		host, port, err := net.SplitHostPort(addr)
		if err != nil || port == "" {
			return nil, bad("no host and port")
		}
		if _, err := net.LookupPort("tcp", port); err != nil {
			return nil, bad("no such port")
		}
		addr = net.JoinHostPort(host, port)
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, bad("no such host")
		}
		return &Ready{text: s, addr: addr}, nil
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, bad("neither an address nor a URL")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return nil, bad("no such port")
	}
	addr := net.JoinHostPort(u.Hostname(), port)
	if _, _, err := net.SplitHostPort(addr); err != nil { // a host such as "]"
		return nil, bad("no such host")
	}
	return &Ready{text: s, addr: addr, url: s}, nil
}

func (r *Ready) String() string { return r.text }

// PortTaken returns an error when something listens already: its answers would
// be taken for the program's.
func (r *Ready) PortTaken(ctx context.Context) error {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return nil
	}
	defer c.Close()
	if toItself(c) {
		return nil
	}
	return fmt.Errorf("%s: something listens there already: stop it, or give the program another port", r.addr)
}

// toItself says that a connection to a port of this machine was given that very
// port as its own, which TCP allows, and so reached itself.
func toItself(c net.Conn) bool { return c.LocalAddr().String() == c.RemoteAddr().String() }

const readyPoll = 5 * time.Millisecond

// wait returns when the server answers. gone is closed when the server ended.
func (r *Ready) wait(ctx context.Context, timeout time.Duration, gone <-chan struct{}) error {
	deadline := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: r.TLS, ForceAttemptHTTP2: true}, Timeout: 5 * time.Second}
	var last error
	for n := 1; ; n++ {
		err := r.try(ctx, client)
		if err == nil {
			return nil
		}
		if never := r.never(err); never != nil {
			return never
		}
		// A server that speaks HTTP should not be asked for TLS at each poll.
		if n&(n-1) == 0 && r.perhapsTLS(err) && r.speaksTLS(ctx) {
			_, rest, _ := strings.Cut(r.url, "://")
			return fmt.Errorf("the server at %s speaks TLS: give --ready https://%s", r.text, rest)
		}
		if last == nil || time.Now().Before(deadline) { // that time is up explains nothing
			last = err
		}
		select {
		case <-gone:
			return errGone
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return r.late(timeout, last)
			}
			return ctx.Err()
		case <-time.After(readyPoll):
		}
	}
}

// never is the error of an answer that waiting does not change; nil for others.
func (r *Ready) never(err error) error {
	var unknown *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("the certificate of the server at %s is not accepted: %w; %s", r.text, unknown.Err, load.AnyCertificate.Text(loadPrefix))
	case errors.Is(err, http.ErrSchemeMismatch):
		_, rest, _ := strings.Cut(r.url, "://")
		return fmt.Errorf("the server at %s speaks HTTP without TLS: give --ready http://%s", r.text, rest)
	}
	return nil
}

// perhapsTLS says whether an answer to HTTP may be that of a server that speaks TLS: a status
// that says so in words, something else than HTTP, or the end of the connection.
func (r *Ready) perhapsTLS(err error) bool {
	var status statusError
	if errors.As(err, &status) {
		return strings.HasPrefix(r.url, "http:") && strings.HasPrefix(string(status), "400 ")
	}
	return strings.HasPrefix(r.url, "http:") && !errors.Is(err, syscall.ECONNREFUSED)
}

// speaksTLS tries a TLS handshake. One that the server refuses by an alert is TLS as well.
func (r *Ready) speaksTLS(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return false
	}
	defer c.Close()
	host, _, _ := net.SplitHostPort(r.addr)
	err = tls.Client(c, &tls.Config{ServerName: host, InsecureSkipVerify: true}).HandshakeContext(ctx) // nothing is sent
	var alert *net.OpError
	return err == nil || errors.As(err, &alert) && alert.Op == "remote error"
}

// late is the error of a server that was not ready in time, by its last answer.
func (r *Ready) late(timeout time.Duration, last error) error {
	var status statusError
	var refused syscall.Errno
	switch {
	case errors.As(last, &status):
		return fmt.Errorf("the server was not ready at %s within %v: it answered with %w; correct --ready, or give it longer with --ready-timeout", r.text, timeout, last)
	case errors.As(last, &refused):
		last = refused
	}
	return fmt.Errorf("the server did not answer at %s within %v (%w): is --ready the address it listens on? --ready-timeout gives it longer", r.text, timeout, last)
}

// A statusError is an answer that does not say that the server is ready.
type statusError string

func (e statusError) Error() string { return "status " + string(e) }

var errGone = errors.New("the program ended")

func (r *Ready) try(ctx context.Context, client *http.Client) error {
	if r.url == "" {
		d := net.Dialer{Timeout: time.Second}
		c, err := d.DialContext(ctx, "tcp", r.addr)
		if err != nil {
			return err
		}
		defer c.Close()
		if toItself(c) {
			return errors.New("connection refused")
		}
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode >= 400 {
		return statusError(resp.Status)
	}
	return nil
}
