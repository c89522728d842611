package trial

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

func TestParseReady(t *testing.T) {
	for in, addr := range map[string]string{
		"tcp:localhost:8080":            "localhost:8080",
		"tcp::8080":                     ":8080",
		"tcp:[::1]:80":                  "[::1]:80",
		"http://localhost:8080/healthz": "localhost:8080",
		"http://localhost":              "localhost:80",
		"https://example.org/x?y=1":     "example.org:443",
		"HTTP://localhost:1/":           "localhost:1",
		"http://[::1]:8080/":            "[::1]:8080",
	} {
		r, err := ParseReady(in)
		if err != nil {
			t.Errorf("ParseReady(%q): %v", in, err)
			continue
		}
		if r.addr != addr || r.String() != in {
			t.Errorf("ParseReady(%q) is %s at %s, want %s", in, r, r.addr, addr)
		}
		if isURL := !strings.HasPrefix(in, "tcp:"); (r.url != "") != isURL {
			t.Errorf("ParseReady(%q): URL %q", in, r.url)
		}
	}
	for _, in := range []string{
		"", "8080", ":8080", "localhost:8080", "tcp:", "tcp:8080", "tcp:localhost", "tcp:localhost:", "tcp:localhost:99999", "tcp:localhost:-1",
		"tcp:::1:80", "tcp:localhost:no-such-port", "ftp://localhost/", "http://", "http:///x", "http://localhost:x/", "http://localhost:99999/",
		"/healthz", "tcp:a\nb:1",
	} {
		r, err := ParseReady(in)
		if err == nil && in != "tcp:a\nb:1" { // the resolver will say what it thinks of that name
			t.Errorf("ParseReady(%q) gave %+v", in, r)
		}
		if err != nil {
			checkMessage(t, err, "--ready", "tcp:HOST:PORT", "http://")
		}
	}
}

func FuzzParseReady(f *testing.F) {
	for _, s := range []string{"tcp:localhost:80", "tcp:[::1]:http", "http://h:1/p?q#f", "https://u:p@h",
		"http://[fe80::1%25eth0]:80/", "tcp:", "http://\x00", "http://]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseReady(s)
		if err != nil {
			checkMessage(t, err, "--ready")
			return
		}
		if r.String() != s {
			t.Fatalf("%q is shown as %q", s, r)
		}
		_, port, err := net.SplitHostPort(r.addr)
		if err != nil {
			t.Fatalf("%q gives the address %q: %v", s, r.addr, err)
		}
		if _, err := net.LookupPort("tcp", port); err != nil {
			t.Fatalf("%q gives the port %q: %v", s, port, err)
		}
	})
}

func TestReadyWait(t *testing.T) {
	var status int
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
	defer srv.Close()
	never := make(chan struct{})
	gone := make(chan struct{})
	close(gone)
	ctx := context.Background()

	for _, flag := range []string{"tcp:" + srv.Listener.Addr().String(), srv.URL + "/x"} {
		r, err := ParseReady(flag)
		if err != nil {
			t.Fatal(err)
		}
		status = http.StatusNoContent
		if err := r.wait(ctx, time.Minute, never); err != nil {
			t.Errorf("%s: %v", flag, err)
		}
		checkMessage(t, r.PortTaken(ctx), srv.Listener.Addr().String(), "another port")
	}
	r, err := ParseReady(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	status = http.StatusServiceUnavailable // up, but not ready
	checkMessage(t, r.wait(ctx, 2*time.Second, never), "was not ready", srv.URL, "2s", "503", "--ready-timeout")
	if err := r.wait(ctx, time.Minute, gone); !errors.Is(err, errGone) {
		t.Errorf("the server ended: %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if err := r.wait(canceled, time.Minute, never); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}

	free, err := ParseReady("tcp:127.0.0.1:" + freePort(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := free.PortTaken(ctx); err != nil {
		t.Errorf("nothing listens: %v", err)
	}
	checkMessage(t, free.wait(ctx, 2*time.Second, never), "refused")
}

// A certificate that is not accepted does not become so: the wait ends at once, with what to do.
func TestReadyCertificate(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that failed
	srv.StartTLS()
	defer srv.Close()
	never := make(chan struct{})
	for _, url := range []string{srv.URL + "/", strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)} {
		r, err := ParseReady(url)
		if err != nil {
			t.Fatal(err)
		}
		err = r.wait(t.Context(), time.Hour, never)
		checkMessage(t, err, "certificate", url, "x509: ", "; --load-insecure accepts any certificate")
		r.TLS = &tls.Config{InsecureSkipVerify: true}
		if err := r.wait(t.Context(), time.Hour, never); err != nil {
			t.Error(err)
		}
	}
	// A server that speaks no TLS does not learn it.
	plain := httptest.NewServer(srv.Config.Handler)
	defer plain.Close()
	r, err := ParseReady(strings.Replace(plain.URL, "http:", "https:", 1))
	if err != nil {
		t.Fatal(err)
	}
	checkMessage(t, r.wait(t.Context(), time.Hour, never), r.String(), "speaks HTTP without TLS", "--ready http://")
}

// A server that speaks TLS does not answer to HTTP, whatever it says instead.
func TestReadySpeaksTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	config := srv.TLS.Clone()
	config.NextProtos = nil
	bare := serveEach(t, func(c net.Conn) { _ = tls.Server(c, config).Handshake() }) // answers with an alert, or closes
	strict := config.Clone()
	strict.CipherSuites, strict.MaxVersion = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, tls.VersionTLS12 // with an RSA key: no handshake succeeds
	refusing := serveEach(t, func(c net.Conn) { _ = tls.Server(c, strict).Handshake() })
	never := make(chan struct{})
	for _, addr := range []string{srv.Listener.Addr().String(), bare, refusing} {
		r, err := ParseReady("http://" + addr + "/x")
		if err != nil {
			t.Fatal(err)
		}
		checkMessage(t, r.wait(t.Context(), testenv.Patience, never), r.String(), "speaks TLS", "--ready https://"+addr+"/x")
	}
	// Others may have answers that are as bad, and become ready.
	var n, m atomic.Int32
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) < 8 {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer plain.Close()
	closing := serveEach(t, func(c net.Conn) {
		if m.Add(1) > 8 {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	for _, url := range []string{plain.URL, "http://" + closing} {
		r, err := ParseReady(url)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.wait(t.Context(), testenv.Patience, never); err != nil {
			t.Error(err)
		}
	}
}

// serveEach serves connections until the test ends, one after the other.
func serveEach(t *testing.T, serve func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestServerDefaults(t *testing.T) {
	var s Server
	if s.readyTimeout() != time.Minute || s.stopTimeout() != 10*time.Second {
		t.Errorf("zero fields mean %v and %v", s.readyTimeout(), s.stopTimeout())
	}
	s = Server{ReadyTimeout: 1, StopTimeout: 2}
	if s.readyTimeout() != 1 || s.stopTimeout() != 2 {
		t.Errorf("%+v means %v and %v", s, s.readyTimeout(), s.stopTimeout())
	}
}

// freePort returns a port that nothing listens at.
func freePort(t testing.TB) string {
	t.Helper()
	port, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
