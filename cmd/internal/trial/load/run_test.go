package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

// A counted server counts its requests and connections.
type counted struct {
	*httptest.Server
	mu              sync.Mutex
	requests, conns int
	protos          map[string]int
}

// serve starts a server, which speaks http ("1", "h2c" or "h2") and answers by handler.
func serve(t *testing.T, proto string, handler http.HandlerFunc) *counted {
	t.Helper()
	s := &counted{protos: make(map[string]int)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests++
		s.protos[r.Proto]++
		s.mu.Unlock()
		handler(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
		}
	}
	switch proto {
	case "h2":
		s.EnableHTTP2 = true
		s.StartTLS()
	case "tls":
		s.StartTLS()
	case "h2c":
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	default:
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// trusting returns the TLS configuration that trusts a server.
func trusting(s *counted) *tls.Config {
	if s.Certificate() == nil {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{RootCAs: pool}
}

func mustRun(t *testing.T, o Options) *Result {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Errorf("the result does not agree with itself: %v", err)
	}
	return r
}

// Every protocol gets exactly as many requests as were intended, with their method,
// headers and body, and no goroutine or connection is left.
func TestProtocols(t *testing.T) {
	testenv.Long(t)
	for _, tt := range []struct{ name, server, http, want string }{
		{"HTTP/1.1", "1", "", "HTTP/1.1"},
		{"HTTP/1.1 over TLS", "tls", "", "HTTP/1.1"},
		{"HTTP/1.1 by choice", "h2", HTTP1, "HTTP/1.1"},
		{"h2 over TLS", "h2", "", "HTTP/2.0"},
		{"h2 by choice", "h2", HTTP2, "HTTP/2.0"},
		{"h2c", "h2c", HTTP2, "HTTP/2.0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := bytes.Repeat([]byte("x"), 10_000)
			s := serve(t, tt.server, func(w http.ResponseWriter, r *http.Request) {
				got, err := io.ReadAll(r.Body)
				user, password, _ := r.BasicAuth()
				if err != nil || !bytes.Equal(got, body) || r.Method != "PUT" || r.Host != "example.com" || r.Header.Get("X-A") != "b c" ||
					len(r.Header["X-Two"]) != 2 || user != "u" || password != "p" || r.URL.RawQuery != "q=1" || r.Header.Get("Accept-Encoding") != "" {
					w.WriteHeader(http.StatusTeapot)
				}
				_, _ = w.Write(body)
			})
			before := runtime.NumGoroutine()
			u := strings.Replace(s.URL, "//", "//u:p@", 1)
			r := mustRun(t, Options{
				URLs: []string{u + "/a?q=1#f", u + "/b?q=1"}, HTTP: tt.http, Rate: 1000, Warmup: 20 * time.Millisecond, Duration: 200 * time.Millisecond,
				Method: "PUT", Body: body, Headers: []Header{{"Host", "example.com"}, {"X-A", "b c"}, {"X-Two", "1"}, {"X-Two", "2"}},
				TLS: trusting(s), Timeout: testenv.Patience,
			})
			testenv.Eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before+1 })
			if r.Intended != 200 || r.Succeeded != 200 || !r.Complete || len(r.Errors) != 0 {
				t.Errorf("%+v, %v", r.Counts, r.Errors)
			}
			want := map[string]int64{tt.want: 200}
			if !reflect.DeepEqual(r.Protocols, want) || !reflect.DeepEqual(r.Status, map[string]int64{"2xx": 200}) {
				t.Errorf("protocols %v, status %v", r.Protocols, r.Status)
			}
			if s.requests != 220 || s.protos[tt.want] != 220 {
				t.Errorf("the server saw %d requests: %v", s.requests, s.protos)
			}
			if got := r.Settings.URLs[0]; got != strings.Replace(s.URL, "//", "//u:xxxxx@", 1)+"/a?q=1" {
				t.Errorf("URL %s", got)
			}
			if r.Latency.P999 == nil || *r.Latency.P50 <= 0 || r.Lateness.P99 == nil {
				t.Errorf("latency %+v, lateness %+v", r.Latency, r.Lateness)
			}
		})
	}
}

// --connections is how many there are, also where more requests are in flight than a
// connection takes at once. One more connection is the probe's.
func TestConnections(t *testing.T) {
	for _, tt := range []struct{ server, http string }{{"1", ""}, {"h2c", HTTP2}, {"h2", ""}} {
		t.Run(tt.server, func(t *testing.T) {
			s := serve(t, tt.server, func(http.ResponseWriter, *http.Request) { time.Sleep(5 * time.Millisecond) })
			r := mustRun(t, Options{URLs: []string{s.URL}, HTTP: tt.http, Connections: 3, Rate: 1500, Duration: 200 * time.Millisecond,
				Timeout: testenv.Patience, TLS: trusting(s)})
			if r.Succeeded != 300 || r.Intended != 300 {
				t.Errorf("%+v, %v", r.Counts, r.Errors)
			}
			if s.conns != 1+3 {
				t.Errorf("%d connections, want 3 and the probe's", s.conns)
			}
		})
	}
}

// Failures are counted by kind, each with its first error.
func TestFailures(t *testing.T) {
	n := 0
	var mu sync.Mutex
	s := serve(t, "1", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		i := n
		mu.Unlock()
		switch i % 5 {
		case 0:
			panic(http.ErrAbortHandler) // breaks the connection
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.WriteHeader(http.StatusNotFound)
		case 3:
			w.WriteHeader(http.StatusSeeOther) // which is not followed
		}
	})
	// POST, because a GET whose connection breaks is sent again by net/http.
	r := mustRun(t, Options{URLs: []string{s.URL}, Method: "POST", Rate: 500, Duration: 200 * time.Millisecond, Timeout: testenv.Patience})
	if r.Failures != (Failures{Connection: 20, Status: 40}) || r.Succeeded != 40 || r.Intended != 100 {
		t.Errorf("%+v", r.Counts)
	}
	if want := map[string]int64{"2xx": 20, "3xx": 20, "4xx": 20, "5xx": 20}; !reflect.DeepEqual(r.Status, want) {
		t.Errorf("%v", r.Status)
	}
	if len(r.Errors) != 2 || r.Errors[0].Kind != "connection" || r.Errors[1].Kind != "status" || r.Errors[0].Text == "" {
		t.Errorf("%+v", r.Errors)
	}
	if r.Latency.P90 != nil || r.Latency.SlowestAnswer == nil {
		t.Errorf("%+v", r.Latency)
	}
}

// A server that goes away during the load, and one that never answers, fail the requests.
func TestServerGoesAway(t *testing.T) {
	before := runtime.NumGoroutine()
	asked := make(chan struct{}, 1000)
	s := serve(t, "1", func(http.ResponseWriter, *http.Request) { asked <- struct{}{} })
	go func() {
		for range 20 {
			<-asked
		}
		s.Listener.Close()
		s.CloseClientConnections()
	}()
	r := mustRun(t, Options{URLs: []string{s.URL}, Rate: 500, Duration: time.Second, Timeout: testenv.Patience})
	if r.Intended != 500 || r.Failures.Connection == 0 || r.Failures.Connection != r.Failed || !r.Complete {
		t.Errorf("%+v", r.Counts)
	}
	s.Close()
	testenv.Eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
}

func TestTimeoutsOfRealServers(t *testing.T) {
	for _, tt := range []struct{ server, http string }{{"1", ""}, {"h2c", HTTP2}, {"h2", ""}} {
		before := runtime.NumGoroutine()
		s := serve(t, tt.server, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		r := mustRun(t, Options{URLs: []string{s.URL}, HTTP: tt.http, Rate: 100, Duration: 100 * time.Millisecond,
			Timeout: 2 * time.Second, TLS: trusting(s)})
		if r.Failures != (Failures{Timeout: 10}) || r.Succeeded != 0 {
			t.Errorf("%s: %+v", tt.server, r.Counts)
		}
		s.Close()
		testenv.Eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
	}
}

// An interruption ends the load, the requests in flight, and everything else.
func TestInterruptedForReal(t *testing.T) {
	before := runtime.NumGoroutine()
	asked := make(chan struct{}, 1000)
	s := serve(t, "1", func(_ http.ResponseWriter, r *http.Request) { asked <- struct{}{}; <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	r, err := Run(ctx, Options{URLs: []string{s.URL}, Rate: 100, Duration: time.Hour, Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if r.Complete || r.Intended == 0 || r.Failures != (Failures{Unanswered: r.Intended}) {
		t.Errorf("complete %v, %+v", r.Complete, r.Counts)
	}
	s.Close()
	testenv.Eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
}

// What cannot be connected to is said in one line, before any load.
func TestCannotConnect(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	l.Close()
	plain, secure := serve(t, "1", nil), serve(t, "tls", nil)
	for _, tt := range []struct {
		url  string
		o    Options
		want string
	}{
		{"http://" + gone, Options{}, "cannot connect to " + gone + ": connection refused; start the server first, or correct the port"},
		{"http://nosuch.invalid/", Options{}, "cannot connect to nosuch.invalid: "},
		{secure.URL, Options{}, "certificate signed by unknown authority; --insecure accepts any certificate"},
		{secure.URL, Options{HTTP: HTTP2, TLS: trusting(secure)}, ""},
		{strings.Replace(plain.URL, "http:", "https:", 1), Options{}, "first record does not look like a TLS handshake"},
	} {
		tt.o.URLs, tt.o.Rate, tt.o.Duration = []string{tt.url}, 1, time.Second
		_, err := Run(t.Context(), tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", tt.url, err, tt.want)
		}
	}
	if plain.requests != 0 || secure.requests != 0 {
		t.Error("a request was sent")
	}
}

func TestBadOptions(t *testing.T) {
	for _, tt := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Rate = 0 }, "--rate 0: want requests per second, more than 0"},
		{func(o *Options) { o.Rate = -1 }, "--rate -1"},
		{func(o *Options) { o.Rate = nan }, "--rate NaN"},
		{func(o *Options) { o.Rate = 2e6 }, "--rate 2e+06"},
		{func(o *Options) { o.Duration = 0 }, "--duration 0s"},
		{func(o *Options) { o.Duration = 48 * time.Hour }, "at most 24h"},
		{func(o *Options) { o.Warmup = -1 }, "--warmup -1ns"},
		{func(o *Options) { o.Rate, o.Duration = 1e6, time.Hour }, "more than 1,000,000,000 requests"},
		{func(o *Options) { o.Timeout = -1 }, "--timeout -1ns"},
		{func(o *Options) { o.Timeout = 2 * time.Hour }, "--timeout 2h0m0s"},
		{func(o *Options) { o.Connections = -1 }, "--connections -1"},
		{func(o *Options) { o.MaxInFlight = -1 }, "--max-in-flight -1"},
		{func(o *Options) { o.Arrivals = "x" }, `--arrivals "x": want constant or poisson`},
		{func(o *Options) { o.HTTP = "3" }, `--http "3": want 1 or 2`},
		{func(o *Options) { o.Method = "A B" }, `--method "A B"`},
		{func(o *Options) { o.Method = "CONNECT" }, "asks for a tunnel"},
		{func(o *Options) { o.URLs = nil }, "no URL given"},
		{func(o *Options) { o.URLs = []string{"localhost:80"} }, `"localhost:80" is not a URL: want http://HOST`},
		{func(o *Options) { o.URLs = []string{"http://"} }, "is not a URL"},
		{func(o *Options) { o.URLs = []string{"http://a:99999/"} }, "no such port"},
		{func(o *Options) { o.URLs = []string{"http://a\x7f/"} }, "is not a URL"},
	} {
		o := Options{URLs: []string{"http://127.0.0.1:1/"}, Rate: 1, Duration: time.Second}
		tt.change(&o)
		_, err := Run(t.Context(), o)
		if _, ok := err.(*OptionsError); !ok || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	for _, h := range []string{"x", ": a", "a b: c", "a: b\r\nc: d", "ä: b"} {
		if got, err := ParseHeader(h); err == nil {
			t.Errorf("%q: %v", h, got)
		}
	}
	if h, err := ParseHeader("content-type:  a/b; c "); err != nil || h != (Header{"Content-Type", "a/b; c"}) {
		t.Errorf("%v, %v", h, err)
	}
}

// The timer is not early, and ends with its context.
func TestTimer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w, err := newTimer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for _, d := range []time.Duration{-time.Second, 0, 50 * time.Microsecond, 3 * time.Millisecond} {
		until := time.Now().Add(d)
		if !w.wait(until) || time.Until(until) > 0 {
			t.Errorf("%v: woken early", d)
		}
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if w.wait(time.Now().Add(time.Hour)) {
		t.Error("the hour is over")
	}
	if w.wait(time.Now()) {
		t.Error("the context has ended")
	}
}

// A server on a real socket that answers nothing for half a second: every request that
// was to start in that time took at least what was left of it, however busy the machine.
func TestStallOfARealServer(t *testing.T) {
	const stall = 500 * time.Millisecond
	var once sync.Once
	var end time.Time
	s := serve(t, "1", func(http.ResponseWriter, *http.Request) {
		once.Do(func() { end = time.Now().Add(stall) }) // the first request is not before its intended start
		time.Sleep(time.Until(end))
	})
	r := mustRun(t, Options{URLs: []string{s.URL}, Rate: 200, Duration: time.Second, Timeout: testenv.Patience})
	if r.Intended != 200 || r.Succeeded != 200 {
		t.Fatalf("%+v", r.Counts)
	}
	// Request i is to start at i times 5 ms.
	for _, longer := range []time.Duration{50 * time.Millisecond, 250 * time.Millisecond, 490 * time.Millisecond} {
		if got, least := above(r, longer-1), int64((stall-longer)/(5*time.Millisecond))+1; got < least {
			t.Errorf("%d requests took %v and longer, want at least %d", got, longer, least)
		}
	}
	if r.Latency.P99 == nil || *r.Latency.P99 < 0.49 {
		t.Errorf("p99 is %v, want at least 490 ms", r.Latency.P99)
	}
}

// Measuring is called once, when the warm-up ends, and Run waits for it.
func TestMeasuring(t *testing.T) {
	for _, arrivals := range []string{Constant, Poisson} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var at []time.Duration
			fake(t, Options{Rate: 10, Arrivals: arrivals, Warmup: time.Second, Duration: time.Second, Measuring: func() {
				at = append(at, time.Since(start))
				time.Sleep(time.Minute)
			}}, func(time.Duration, http.ResponseWriter, *http.Request) {})
			if len(at) != 1 || at[0] != time.Second || time.Since(start) < time.Minute {
				t.Errorf("%s: called at %v, ended at %v", arrivals, at, time.Since(start))
			}
		})
	}
}

// A request is sent once: where the server breaks the connection instead of answering, it has
// failed, also if it is one that a browser would send again.
func TestSentOnce(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST"} {
		for _, key := range []string{"", "Idempotency-Key"} {
			for _, body := range [][]byte{nil, []byte("x")} {
				if body != nil && method == "HEAD" || body == nil && method == "POST" && key != "" {
					continue // the one has no body, the other needs one
				}
				var seen atomic.Int64
				var lengths sync.Map
				s := serve(t, "1", func(_ http.ResponseWriter, r *http.Request) {
					lengths.Store(fmt.Sprint(r.ContentLength, r.TransferEncoding), true)
					if seen.Add(1)%5 == 0 {
						panic(http.ErrAbortHandler) // breaks the connection
					}
				})
				o := Options{URLs: []string{s.URL}, Method: method, Rate: 500, Duration: 200 * time.Millisecond, Body: body, Timeout: testenv.Patience}
				if key != "" {
					o.Headers = []Header{{key, "1"}}
				}
				r := mustRun(t, o)
				if r.Failures != (Failures{Connection: 20}) || r.Succeeded != 80 || seen.Load() != 100 {
					t.Errorf("%s %q, %q: %+v, the server has seen %d", method, key, body, r.Counts, seen.Load())
				}
				lengths.Range(func(l, _ any) bool {
					if want := fmt.Sprint(len(body), []string(nil)); l != want {
						t.Errorf("%s: the server has seen a body of %s, want %s", method, l, want)
					}
					return true
				})
			}
		}
	}
}
