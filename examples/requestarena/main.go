// Requestarena is an HTTP server whose handler parses into an arena: it
// evaluates arithmetic expressions.
//
//	POST /eval   1 + 2 * max(3, 4)
//
// Each request takes an arena from a Pool, allocates the nodes of the
// expression there, and puts the arena back, warm for the next request. All
// that leaves the handler is copied: a number, or the text of an error.
//
//	go run ./examples/requestarena &
//	curl -d '1 + 2 * max(3, 4)' localhost:8089/eval
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/foliomem/folio/arena"
)

// arenas are for the nodes of one request each.
var arenas = arena.Pool{Options: &arena.Options{Name: "requests"}}

// maxBody is the longest expression, in bytes.
const maxBody = 1 << 20

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /eval", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			status := http.StatusBadRequest
			if large := new(http.MaxBytesError); errors.As(err, &large) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, err.Error(), status)
			return
		}
		v, err := evaluate(string(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintln(w, v)
	})
	return mux
}

func evaluate(text string) (float64, error) {
	a := arenas.Get()
	defer arenas.Put(a)
	n, err := parse(a, text)
	if err != nil {
		return 0, err
	}
	return n.eval()
}

func main() {
	addr := flag.String("addr", "localhost:8089", "listen on this `address`")
	flag.Parse()
	if err := http.ListenAndServe(*addr, handler()); err != nil {
		fmt.Fprintln(os.Stderr, "requestarena:", err)
		os.Exit(1)
	}
}
