// Assist is a server that answers small requests while it allocates in bursts:
//
//	assist SIZE BURST PERIOD
//
// SIZE is what it keeps, in bytes. Every PERIOD milliseconds it allocates BURST bytes
// that it drops, as fast as it can, as a job beside the requests would. A request
// replaces a few of the records that are kept, and allocates about 30 KiB.
//
// The first line that it writes is its address. A request of /begin begins what is
// measured. When its standard input ends, it writes what it has used since then, a
// figure a line, and ends.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "assist:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want SIZE BURST PERIOD, have %q", args)
	}
	var n [3]int
	for i, text := range args {
		var err error
		if n[i], err = strconv.Atoi(text); err != nil || n[i] < 1 {
			return fmt.Errorf("want a number above 0, have %q", text)
		}
	}
	s := &server{records: make([]*record, max(n[0]/recordBytes, 1))}
	for i := range s.records {
		s.records[i] = newRecord(i)
	}
	runtime.GC() // from here on it goes as in a server that has run for long
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	served := make(chan error, 1)
	go func() { served <- http.Serve(l, s) }()
	go bursts(n[1], time.Duration(n[2])*time.Millisecond)
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		ended <- err
	}()
	select {
	case err := <-served:
		return err
	case err = <-ended:
	}
	w := bufio.NewWriter(os.Stdout)
	s.mu.Lock()
	used := now().since(s.before)
	s.mu.Unlock()
	fmt.Fprintf(w, "assist_seconds %g\ncpu_seconds %g\ngc_cycles %d\n", used.assist, used.cpu, used.cycles)
	return errors.Join(err, w.Flush())
}

// A record is small objects that lead to each other, as most of what servers keep is.
type record struct {
	id    int
	parts [4]*part
}

type part struct {
	next *part
	text [5]uint64
}

// recordBytes is what one takes: 48 bytes, and 8 parts of 48.
const recordBytes = 9 * 48

func newRecord(id int) *record {
	r := &record{id: id}
	for i := range r.parts {
		r.parts[i] = &part{next: &part{text: [5]uint64{uint64(id)}}}
	}
	return r
}

// sum reads all of a record.
func (r *record) sum() (n uint64) {
	for _, p := range r.parts {
		for ; p != nil; p = p.next {
			n += p.text[0]
		}
	}
	return n
}

type server struct {
	mu      sync.Mutex
	records []*record
	at      int
	before  usage
}

// A request is done by so many goroutines, each of which replaces so many records.
const (
	fan  = 8
	each = 4
)

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/begin" {
		s.mu.Lock()
		s.before = now()
		s.mu.Unlock()
		return
	}
	texts := make([]string, fan)
	var all sync.WaitGroup
	for i := range texts {
		all.Add(1)
		go func() {
			defer all.Done()
			texts[i] = s.replace()
		}()
	}
	all.Wait()
	for _, text := range texts {
		fmt.Fprint(w, text)
	}
}

// replace replaces records by new ones, and says what was in them.
func (s *server) replace() string {
	text := make([]byte, 0, 512)
	for range each {
		r := newRecord(0)
		s.mu.Lock()
		// Far from the one before, so that all generations are mixed.
		s.at = (s.at + 7919) % len(s.records)
		old := s.records[s.at]
		s.records[s.at] = r
		s.mu.Unlock()
		text = strconv.AppendUint(text, old.sum(), 10)
		text = append(text, '\n')
	}
	return string(text)
}

// sunk keeps the compiler from leaving the records of bursts out.
var sunk atomic.Pointer[record]

// batch is how many records bursts makes before it lets requests have the CPU: 0.1 ms or
// so, as a job does that takes its input from elsewhere.
const batch = 512

// bursts allocates records and drops them.
func bursts(bytes int, period time.Duration) {
	for range time.Tick(period) {
		for i := range bytes / recordBytes {
			sunk.Store(newRecord(i))
			if i%batch == 0 {
				runtime.Gosched()
			}
		}
	}
}
