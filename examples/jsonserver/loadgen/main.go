// Loadgen sends a fixed number of requests to the jsonserver example and
// prints how long they took, in one line:
//
//	32000 requests in 4.20s: 7617.8 op/s, p50 0.27ms p99 4.49ms max 24.6ms
//
// Of the requests 60% get a record, 35% replace one and 5% search. Equal flags
// send equal requests, each client its own sequence on one connection that it
// keeps. The status and the id of every reply are checked; the first failure
// ends the run with one line and status 1.
//
// A client sends its next request when the last is answered (a closed loop): the
// throughput is the server's, but a stall delays few requests. For latencies at a fixed
// rate use folio load --rate 2000 --duration 5s URL.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/foliomem/folio/examples/jsonserver/internal/item"
)

const (
	// The mix of requests, in percent; the rest are searches.
	getShare  = 60
	postShare = 35

	bodies  = 256              // distinct POST bodies, but for the id
	timeout = 30 * time.Second // for one request
)

type config struct {
	host     string // host:port
	requests int
	clients  int
	records  int
	seed     uint64
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	var c config
	fs := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	base := fs.String("url", "http://127.0.0.1:8080", "`URL` of the server")
	fs.IntVar(&c.requests, "requests", 32000, "number of requests to send")
	fs.IntVar(&c.clients, "clients", 4, "number of connections to send them on")
	fs.IntVar(&c.records, "records", item.DefaultRecords, "number of records the server holds")
	fs.Uint64Var(&c.seed, "seed", item.DefaultSeed, "seed of the requests")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "usage: loadgen [flags]")
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return 0
	}
	u, uerr := url.Parse(*base)
	switch {
	case err != nil:
	case fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case uerr != nil || u.Scheme != "http" || u.Hostname() == "" || u.Path != "" && u.Path != "/":
		err = fmt.Errorf("-url %q: want http://host:port", *base)
	case c.requests < 1 || c.clients < 1 || c.records < 1:
		err = errors.New("-requests, -clients and -records must be at least 1")
	}
	if err != nil {
		fmt.Fprintln(stderr, "loadgen:", err)
		return 2
	}
	c.host = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80"))

	took, lat, err := drive(c)
	if err != nil {
		fmt.Fprintln(stderr, "loadgen:", err)
		return 1
	}
	slices.Sort(lat)
	n := len(lat)
	fmt.Fprintf(stdout, "%d requests in %.2fs: %.1f op/s, p50 %s p99 %s max %s\n", n, took.Seconds(),
		float64(n)/took.Seconds(), ms(lat[n/2]), ms(lat[n*99/100]), ms(lat[n-1]))
	return 0
}

// ms prints d in milliseconds, to about three digits.
func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	if v < 10 {
		return fmt.Sprintf("%.2fms", v)
	}
	return fmt.Sprintf("%.1fms", v)
}

// drive sends the requests and returns the time all of them took and that of
// each, or the first failure.
func drive(c config) (time.Duration, []time.Duration, error) {
	// A body is `{"id":N` and one of these tails, which hold the rest of a
	// record each.
	tails := make([][]byte, bodies)
	for i := range tails {
		b, err := json.Marshal(item.New(c.seed+1, i+1))
		if err != nil {
			return 0, nil, err
		}
		tails[i] = b[bytes.IndexByte(b, ','):]
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type result struct {
		lat []time.Duration
		err error
	}
	results := make(chan result, c.clients)
	start := time.Now()
	for i := range c.clients {
		n := c.requests / c.clients
		if i < c.requests%c.clients {
			n++
		}
		go func() {
			lat, err := client(ctx, c, i, n, tails)
			results <- result{lat, err}
		}()
	}
	all := make([]time.Duration, 0, c.requests)
	for range c.clients {
		r := <-results
		if r.err != nil {
			return 0, nil, r.err
		}
		all = append(all, r.lat...)
	}
	return time.Since(start), all, nil
}

// client sends n requests, one after the other, on one connection. It writes
// them itself, which costs far less than an http.Client.
func client(ctx context.Context, c config, i, n int, tails [][]byte) ([]time.Duration, error) {
	if n == 0 {
		return nil, nil
	}
	conn, err := net.DialTimeout("tcp", c.host, timeout)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()

	var (
		r         = rand.New(rand.NewPCG(c.seed, uint64(i)))
		in        = bufio.NewReaderSize(conn, 16<<10)
		lat       = make([]time.Duration, 0, n)
		out, want []byte
		body      bytes.Buffer
	)
	for range n {
		id := 1 + r.IntN(c.records)
		want = strconv.AppendInt(append(want[:0], `{"id":`...), int64(id), 10)
		var what string
		var post []byte
		switch p := r.IntN(100); {
		case p < getShare:
			what = "GET /item?id=" + strconv.Itoa(id)
		case p < getShare+postShare:
			what, post = "POST /item", tails[r.IntN(len(tails))]
		default:
			q := item.Words[r.IntN(len(item.Words))]
			what = "GET /search?q=" + q
			want = append(append(append(want[:0], `{"query":"`...), q...), '"')
		}
		out = append(append(append(append(out[:0], what...), " HTTP/1.1\r\nHost: "...), c.host...), "\r\n"...)
		if post != nil {
			out = append(out, "Content-Type: application/json\r\nContent-Length: "...)
			out = strconv.AppendInt(out, int64(len(want)+len(post)), 10)
			out = append(out, "\r\n\r\n"...)
			out = append(append(out, want...), post...)
		} else {
			out = append(out, "\r\n"...)
		}

		start := time.Now()
		conn.SetDeadline(start.Add(timeout))
		if _, err := conn.Write(out); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		body.Reset()
		if _, err := body.ReadFrom(resp.Body); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		lat = append(lat, time.Since(start))
		got := body.Bytes()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s: status %s: %.200q", what, resp.Status, got)
		}
		if !bytes.HasPrefix(got, want) || len(got) == len(want) || got[len(want)] != ',' {
			return nil, fmt.Errorf("%s: the reply does not begin with %s: %.200q", what, want, got)
		}
	}
	return lat, nil
}
