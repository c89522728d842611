// Decodearena is an HTTP server whose handler decodes a message into an arena: it tells
// what an order costs.
//
//	POST /price   an order, in the wire format of protocol buffers: see order.go
//	GET  /example?items=N   an order of N items
//
// Each request takes an arena from a Pool, decodes the message there, with all its
// strings, adds up, and puts the arena back. For comparison -with new leaves the message
// to the GC and -with sync.Pool reuses its parts. The catalogue with the prices, about 30 MB
// of live heap, is the same for all.
//
//	go run ./examples/decodearena &
//	curl -s 'localhost:8090/example?items=3' | curl -s --data-binary @- localhost:8090/price
//
// go run ./cmd/bench/arena -handler compares the three under load.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

const (
	maxBody  = 4 << 20
	maxItems = 10_000
	products = 300_000
)

// catalogue has the price of each product, in cents.
type catalogue map[string]uint64

func newCatalogue(n int) catalogue {
	c := make(catalogue, n)
	for i := range n {
		c[productName(i)] = 100 + uint64(i)%900
	}
	return c
}

func productName(i int) string { return fmt.Sprintf("product %06d", i) }

// price adds up an order.
func (c catalogue) price(o *order) (cents uint64, err error) {
	for _, i := range o.items {
		p, ok := c[i.product]
		if !ok {
			return 0, fmt.Errorf("there is no %q", i.product)
		}
		for _, o := range i.options {
			if o.key == "gift wrap" {
				p += uint64(len(o.value))
			}
		}
		cents += p * i.quantity
	}
	return cents, nil
}

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func handler(c catalogue, newMemory func() memory) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /price", func(w http.ResponseWriter, r *http.Request) {
		body := bodies.Get().(*bytes.Buffer)
		body.Reset()
		defer bodies.Put(body)
		if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
			status := http.StatusBadRequest
			if large := new(http.MaxBytesError); errors.As(err, &large) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, err.Error(), status)
			return
		}
		m := newMemory()
		o, err := decode(m, body.Bytes())
		defer m.done(o)
		var cents uint64
		if err == nil {
			cents, err = c.price(o)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		// What leaves the handler is text, and none of the order's.
		fmt.Fprintf(w, "order %d of %s: %d items, %d.%02d\n", o.id, o.customer, len(o.items), cents/100, cents%100)
	})
	mux.HandleFunc("GET /example", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.FormValue("items"))
		if err != nil || n < 0 || n > maxItems {
			http.Error(w, fmt.Sprintf("items: give a number from 0 to %d", maxItems), http.StatusBadRequest)
			return
		}
		w.Write(example(n).encode())
	})
	return mux
}

// example returns an order of n items with two options each.
func example(n int) *order {
	o := &order{id: 7, customer: "A. Customer"}
	for i := range n {
		o.items = append(o.items, &item{
			product:  productName(i * 7919 % products),
			quantity: uint64(1 + i%3),
			options:  []*option{{"color", "dark green"}, {"gift wrap", "with a ribbon"}},
		})
	}
	return o
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "decodearena:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	names := strings.Join(slices.Sorted(maps.Keys(memories)), ", ")
	fs := flag.NewFlagSet("decodearena", flag.ExitOnError)
	addr := fs.String("addr", "localhost:8090", "listen on this `address`")
	with := fs.String("with", "arena", "decode with `what`: "+names)
	fs.Parse(args) //nolint:errcheck // it exits
	newMemory, ok := memories[*with]
	if !ok || fs.NArg() > 0 {
		return fmt.Errorf("-with %s: give one of %s, and no arguments", *with, names)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: handler(newCatalogue(products), newMemory)}
	stopped := context.AfterFunc(ctx, func() { s.Close() })
	defer stopped()
	fmt.Println("listening on", l.Addr())
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
