// Command server answers on 127.0.0.1:$PORT; with -n it does so much work and ends. Called
// jsonserver it answers what the server of that name does, and 404 to the rest.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

var sink []byte

func main() {
	n := flag.Int("n", 0, "")
	flag.Parse()
	if *n > 0 {
		for range *n {
			sink = make([]byte, 4096)
		}
		return
	}
	paths := []string{"/"}
	if filepath.Base(os.Args[0]) == "jsonserver" {
		paths = []string{"GET /item", "POST /item", "GET /search", "GET /healthz"}
	}
	for _, p := range paths {
		http.HandleFunc(p, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, len(make([]byte, 4096))) })
	}
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	go func() { panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil)) }()
	<-terms
}
