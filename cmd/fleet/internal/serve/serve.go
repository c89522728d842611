// Package serve has the HTTP servers of the agent: metrics and health, which anybody may
// read, and what is behind a token and TLS.
package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Bounds of all servers.
const (
	headerTime = 5 * time.Second
	writeTime  = 90 * time.Second
	idleTime   = 2 * time.Minute
	stopTime   = 5 * time.Second
	headerSize = 16 << 10
)

// A Server is one address.
type Server struct {
	Listener net.Listener
	Handler  http.Handler
	TLS      *tls.Config // nil: plain
}

// Run serves until ctx ends, then waits a little for what is under way.
func (s *Server) Run(ctx context.Context, log *slog.Logger) error {
	server := &http.Server{
		Handler: s.Handler, ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerSize, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), TLSConfig: s.TLS,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	done := make(chan error, 1)
	go func() {
		if s.TLS != nil {
			done <- server.ServeTLS(s.Listener, "", "")
			return
		}
		done <- server.Serve(s.Listener)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil {
		_ = server.Close()
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Listen listens at an address.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen at %s: %w", address, err)
	}
	return l, nil
}

// Loopback reports whether only this machine can reach an address.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Certificate makes the configuration of a server whose certificate may be replaced while
// it runs, as Kubernetes does with mounted secrets.
func Certificate(cert, key string) (*tls.Config, error) {
	load := func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("cannot read the certificate %s and its key %s: %w", cert, key, err)
		}
		return &c, nil
	}
	if _, err := load(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() },
	}, nil
}

// leastToken is the least length of a token: a shorter one can be guessed.
const leastToken = 16

// ReadToken reads the token of a file.
func ReadToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("cannot read the token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < leastToken {
		return "", fmt.Errorf("the token in %s has %d characters: it needs %d at least", file, len(token), leastToken)
	}
	return token, nil
}

// WithToken serves those who have the token of a file, which is read for each request: it
// may be replaced.
func WithToken(file string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := ReadToken(file)
		if err != nil {
			http.Error(w, "the agent has no token: see its log", http.StatusServiceUnavailable)
			return
		}
		got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		have, want := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(token))
		if !ok || subtle.ConstantTimeCompare(have[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="folio-agent"`)
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
