package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A client sends the requests of a load.
type client struct {
	o       *Options
	targets []target
	pools   map[string][]*http.Transport // by scheme and host

	end   context.CancelFunc // of dialing
	dials sync.WaitGroup
	mu    sync.Mutex
	conns map[net.Conn]bool
}

// A target is one URL: the request to copy, and what sends it.
type target struct {
	request    *http.Request
	transports []*http.Transport // used in turn
	again      bool              // the transport would send it again, unless its body can be had once
}

// A once is no body. Where a kept connection breaks, a transport of HTTP/1.1 sends such a
// request again ([replayed]) if it has no body, or one that can be had again: the server would
// get more requests than were asked for, and its failure would be seen by nobody. This can be
// had once.
type once struct{}

func (once) Read([]byte) (int, error) { return 0, io.EOF }
func (once) Close() error             { return nil }

// newClient connects to each host once: what is wrong with an address, or a certificate,
// is said before any load. No request is sent.
func newClient(ctx context.Context, o *Options, urls []*url.URL) (*client, error) {
	c := &client{o: o, pools: make(map[string][]*http.Transport), conns: make(map[net.Conn]bool)}
	dialing, end := context.WithCancel(context.WithoutCancel(ctx))
	c.end = end
	for _, u := range urls {
		host := u.Scheme + "://" + u.Host
		if c.pools[host] == nil {
			proto, err := c.probe(ctx, u)
			if err != nil {
				end()
				return nil, cannotConnect(u.Host, err)
			}
			c.pools[host] = c.transports(dialing, proto)
		}
		req, err := c.request(u)
		if err != nil {
			end()
			return nil, err
		}
		again := c.pools[host][0].Protocols.HTTP1() && replayed(req)
		if again && req.GetBody == nil && lacksBody(req.Method) {
			req.GetBody = func() (io.ReadCloser, error) { return once{}, nil }
		}
		c.targets = append(c.targets, target{req, c.pools[host], again})
	}
	return c, nil
}

// request makes the request to copy.
func (c *client) request(u *url.URL) (*http.Request, error) {
	req, err := http.NewRequest(c.o.Method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "folio-load")
	if p, ok := u.User.Password(); ok || u.User != nil {
		req.SetBasicAuth(u.User.Username(), p)
	}
	given := make(http.Header)
	body := c.o.Body
	if c.o.GRPC != "" {
		given, body = c.o.callHeader(), frame(body)
	}
	for _, h := range c.o.Headers {
		if h.Name == "Host" {
			req.Host = h.Value
			continue
		}
		given.Add(h.Name, h.Value)
	}
	for name, values := range given {
		req.Header[name] = values
	}
	if body != nil {
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return req, nil
}

// Protocols, as TLS names them.
const (
	protoHTTP1 = "http/1.1"
	protoHTTP2 = "h2"
	protoH2C   = "h2c"
)

// dial opens a connection.
func (c *client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if c.o.dial != nil {
		return c.o.dial(ctx, network, addr)
	}
	return (&net.Dialer{}).DialContext(ctx, network, addr)
}

// offers are the protocols that TLS offers a server.
func (c *client) offers() []string {
	switch c.o.HTTP {
	case HTTP1:
		return []string{protoHTTP1}
	case HTTP2:
		return []string{protoHTTP2}
	}
	return []string{protoHTTP2, protoHTTP1}
}

// probe connects to a host, and returns the protocol to speak with it.
func (c *client) probe(ctx context.Context, u *url.URL) (proto string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	conn, err := c.dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), portOf(u)))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if u.Scheme == "http" {
		if c.o.HTTP == HTTP2 {
			return protoH2C, nil
		}
		return protoHTTP1, nil
	}
	conf := c.tlsConfig()
	conf.NextProtos, conf.ServerName = c.offers(), u.Hostname()
	t := tls.Client(conn, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		return "", err
	}
	switch t.ConnectionState().NegotiatedProtocol {
	case protoHTTP2:
		return protoHTTP2, nil
	default:
		if c.o.HTTP == HTTP2 {
			return "", &ConnectError{errors.New("the server does not offer HTTP/2"), LeaveHTTPOut}
		}
		return protoHTTP1, nil
	}
}

func (c *client) tlsConfig() *tls.Config {
	if c.o.TLS == nil {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return c.o.TLS.Clone()
}

// transports makes what keeps the connections to one host. HTTP/2 has one connection in
// each, so that there are as many as were asked for; HTTP/1.1 has one pool, so that no
// request waits for one connection while another is free.
func (c *client) transports(dialing context.Context, proto string) (out []*http.Transport) {
	n, each := 1, c.o.Connections
	if proto != protoHTTP1 && c.o.Connections > 0 {
		n, each = c.o.Connections, 1
	}
	for range n {
		t := &http.Transport{
			MaxConnsPerHost: each, MaxIdleConnsPerHost: c.o.MaxInFlight,
			DisableCompression:  true, // unpacking answers is not the server's time
			TLSHandshakeTimeout: c.o.Timeout, TLSClientConfig: c.tlsConfig(),
			Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: each > 0},
		}
		switch proto {
		case protoHTTP1:
			t.Protocols.SetHTTP1(true)
		case protoHTTP2:
			t.Protocols.SetHTTP2(true)
		case protoH2C:
			t.Protocols.SetUnencryptedHTTP2(true)
		}
		// A transport dials on when the request that it dialed for has ended: the end of
		// the load must end that.
		t.DialContext = func(_ context.Context, network, addr string) (net.Conn, error) {
			c.dials.Add(1)
			defer c.dials.Done()
			ctx, cancel := context.WithTimeout(dialing, c.o.Timeout)
			defer cancel()
			conn, err := c.dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return c.keep(conn), nil
		}
		out = append(out, t)
	}
	return out
}

// A kept connection is known to its client until it is closed.
type kept struct {
	net.Conn
	c *client
}

func (c *client) keep(conn net.Conn) net.Conn {
	k := kept{conn, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns[k] = true
	return k
}

func (k kept) Close() error {
	k.c.mu.Lock()
	delete(k.c.conns, k)
	k.c.mu.Unlock()
	return k.Conn.Close()
}

// close closes all connections. No request may be in flight.
func (c *client) close() {
	c.end()
	for _, pool := range c.pools {
		for _, t := range pool {
			t.CloseIdleConnections()
		}
	}
	c.dials.Wait()
	c.mu.Lock()
	var left []net.Conn
	for k := range c.conns {
		left = append(left, k)
	}
	c.mu.Unlock()
	for _, k := range left {
		k.Close()
	}
}

// lacksBody says that net/http looks for the end of an empty body before it sends the
// request, and so sends none.
func lacksBody(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// replayed says that net/http sends the request again.
func replayed(r *http.Request) bool {
	return lacksBody(r.Method) || r.Header["Idempotency-Key"] != nil || r.Header["X-Idempotency-Key"] != nil
}

// do sends the request with index i, which was to start at the time intended, and waits
// for the last byte of its answer.
func (c *client) do(ctx context.Context, i uint64, intended time.Time) outcome {
	deadline := intended.Add(c.o.Timeout)
	bounded, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	t := &c.targets[i%uint64(len(c.targets))]
	req := t.request.WithContext(bounded)
	if req.GetBody != nil {
		req.Body, _ = req.GetBody() // which cannot fail
	}
	if t.again {
		req.GetBody = nil // of this copy
	}
	out := outcome{lateness: time.Since(intended)}
	resp, err := t.transports[i/uint64(len(c.targets))%uint64(len(t.transports))].RoundTrip(req)
	size := int64(0)
	if err == nil {
		size, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	out.latency = time.Since(intended)
	switch {
	case out.latency >= c.o.Timeout: // also if it was answered just after
		out.kind = kindTimeout
	case err != nil && ctx.Err() != nil:
		out.kind = kindUnanswered
	case err != nil && errors.Is(err, context.DeadlineExceeded):
		out.kind = kindTimeout
	case err != nil:
		out.kind, out.err = kindConnection, err
	default:
		out.status, out.proto = resp.StatusCode, resp.Proto
		if resp.StatusCode < 200 || resp.StatusCode > 399 {
			out.kind, out.err = kindStatus, errors.New(resp.Status)
		} else if c.o.GRPC != "" {
			if out.code, err = called(resp, size); err != nil {
				out.kind, out.err = kindGRPC, err
			}
		}
	}
	return out
}
