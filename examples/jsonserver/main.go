// Jsonserver is an HTTP server that keeps a sharded map of records in memory
// and speaks JSON.
//
//	GET  /item?id=N    the record with id N, from 1 up
//	POST /item         replace the record with the id in the body
//	GET  /search?q=W   the best matches for a word, among one shard
//	GET  /healthz      status 200 once the data is loaded
//
// The records are made up from -seed, so every run holds the same data. The
// default of -records leaves 200 MB (191 MiB) of live heap in 5.2 million
// objects, as runtime.ReadMemStats tells after a GC cycle. It is 209 MB (199
// MiB) once every record has been replaced by a decoded one.
//
// The address is taken at once; a request that comes before the data is
// loaded waits for it. SIGTERM and SIGINT let the requests under way finish,
// for up to five seconds, and end the server with status 0. The status is 2
// for flags it cannot use and 1 if it cannot listen.
//
// Its load generator is in the directory loadgen:
//
//	go build -o /tmp/ ./examples/jsonserver ./examples/jsonserver/loadgen
//	/tmp/jsonserver &
//	/tmp/loadgen
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/foliomem/folio/examples/jsonserver/internal/item"
)

const (
	maxBody      = 1 << 20
	shutdownTime = 5 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: it serves until ctx ends and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	logger := log.New(stderr, "jsonserver: ", 0)
	fs := flag.NewFlagSet("jsonserver", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	addr := fs.String("addr", "127.0.0.1:8080", "listen on this `address`")
	records := fs.Int("records", item.DefaultRecords, "number of records to hold")
	seed := fs.Uint64("seed", item.DefaultSeed, "seed of the data")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "usage: jsonserver [flags]")
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return 0
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if err == nil && *records < 1 {
		err = fmt.Errorf("-records %d: must be at least 1", *records)
	}
	if err == nil {
		if _, e := net.ResolveTCPAddr("tcp", *addr); e != nil {
			err = fmt.Errorf("-addr %s: %w", *addr, e)
		}
	}
	if err != nil {
		logger.Print(err)
		return 2
	}

	// Listening first shows a clash at once; serving starts after the load.
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		logger.Print(err)
		return 1
	}
	defer ln.Close()
	s := load(ctx, *records, *seed)
	if s == nil {
		return 0
	}
	srv := &http.Server{Handler: handler(s), ReadHeaderTimeout: 5 * time.Second, ErrorLog: logger}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	logger.Printf("serving %d records on %s", *records, ln.Addr())

	select {
	case err := <-served:
		logger.Print(err)
		return 1
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		logger.Printf("some requests were cut off: %v", err)
		srv.Close()
	}
	return 0
}

// handler returns the routes of the server. Other methods on these paths get
// status 405 from the mux.
func handler(s *store) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /item", func(w http.ResponseWriter, req *http.Request) {
		id, err := strconv.Atoi(req.FormValue("id"))
		if err != nil {
			fail(w, http.StatusBadRequest, "id must be a number")
			return
		}
		rec := s.get(id)
		if rec == nil {
			fail(w, http.StatusNotFound, fmt.Sprintf("no item %d", id))
			return
		}
		reply(w, http.StatusOK, rec)
	})
	mux.HandleFunc("POST /item", func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
		if err != nil {
			code := http.StatusBadRequest
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				code = http.StatusRequestEntityTooLarge
			}
			fail(w, code, err.Error())
			return
		}
		rec := new(item.Record)
		if err := json.Unmarshal(body, rec); err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		if !s.replace(rec) {
			fail(w, http.StatusNotFound, fmt.Sprintf("no item %d", rec.ID))
			return
		}
		reply(w, http.StatusOK, struct {
			ID  int `json:"id"`
			Rev int `json:"rev"`
		}{rec.ID, rec.Rev})
	})
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, req *http.Request) {
		q := req.FormValue("q")
		if q == "" {
			fail(w, http.StatusBadRequest, "q is missing")
			return
		}
		reply(w, http.StatusOK, struct {
			Query string `json:"query"`
			Hits  []hit  `json:"hits"`
		}{q, s.search(q)})
	})
	return mux
}

func fail(w http.ResponseWriter, code int, msg string) {
	reply(w, code, map[string]string{"error": msg})
}

func reply(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil { // none of the types above can fail
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(code)
	w.Write(b)
}
