// Package service is what the services of cmd/bench/server have in common: flags, the CPU that
// they run on, and where they listen. Each is a program of a module of its own.
package service

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/foliomem/folio/internal/test/pin"
)

// A Service builds its live heap, and serves.
type Service struct {
	Name string
	// Body returns the body of every request. What a request is about does not depend on it
	// alone: see [Keys].
	Body func() ([]byte, error)
	// Build builds the live heap, and returns what serves connections.
	Build func() (func(net.Listener) error, error)
}

// HTTP serves a handler, and /healthz.
func HTTP(mux *http.ServeMux) func(net.Listener) error {
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	return func(l net.Listener) error { return http.Serve(l, mux) }
}

// Main runs the service as its command line asks for, and does not return.
func (s Service) Main() {
	if err := s.run(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", s.Name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (s Service) run() error {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen on, once the live heap is built")
	cpu := flag.Int("cpu", -1, "`number` of the CPU to run on; -1 for any")
	body := flag.Bool("body", false, "write the body of requests to standard output, and end")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if *body {
		b, err := s.Body()
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(b)
		return err
	}
	if *cpu >= 0 {
		if err := pin.Process(*cpu); err != nil {
			return err
		}
		runtime.SetDefaultGOMAXPROCS() // as if it had begun there
	}
	serve, err := s.Build()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	return errors.Join(serve(l), l.Close())
}

// Keys is a fixed sequence of numbers that look random. All requests of a load have the same
// body, so what each is about comes from here: the n-th request is about the n-th number,
// in every run.
type Keys struct{ n atomic.Uint64 }

// Next returns the next number. It may be called concurrently.
func (k *Keys) Next() uint64 { return Mix(k.n.Add(1)) }

// Count returns how often it was called, from 0: keys one after the other.
func (k *Keys) Count() uint64 { return k.n.Add(1) - 1 }

// Mix returns a number that looks random, the same for the same n (splitmix64).
func Mix(n uint64) uint64 {
	n *= 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
