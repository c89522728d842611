package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/examples/jsonserver/internal/item"
	"github.com/foliomem/folio/internal/test/testenv"
)

// call sends one request to h and returns the status and body of the reply.
func call(h http.Handler, method, target, body string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

func TestRoundTrip(t *testing.T) {
	h := handler(load(t.Context(), 100, 1))
	want := item.New(2, 7)
	body, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if code, got := call(h, "POST", "/item", string(body)); code != 200 || got != `{"id":7,"rev":1}` {
		t.Fatalf("POST: %d %s", code, got)
	}
	code, got := call(h, "GET", "/item?id=7", "")
	rec := new(item.Record)
	if err := json.Unmarshal([]byte(got), rec); code != 200 || err != nil {
		t.Fatalf("GET: %d %s: %v", code, got, err)
	}
	want.Rev = 1
	if !reflect.DeepEqual(rec, want) {
		t.Errorf("got %+v, want %+v", rec, want)
	}
}

func TestStatus(t *testing.T) {
	h := handler(load(t.Context(), 100, 1))
	for _, c := range []struct {
		method, target, body string
		want                 int
	}{
		{"GET", "/healthz", "", 200},
		{"GET", "/item?id=100", "", 200},
		{"GET", "/item?id=101", "", 404},
		{"GET", "/item?id=-1", "", 404},
		{"GET", "/item?id=x", "", 400},
		{"GET", "/item", "", 400},
		{"POST", "/item", `{"id":1,"parts":[{"sizes":[1,2]}]}`, 200},
		{"POST", "/item", `{"id":101}`, 404},
		{"POST", "/item", `{"id":1`, 400},
		{"POST", "/item", `{"id":1} x`, 400},
		{"POST", "/item", `{"id":1,"parts":3}`, 400},
		{"POST", "/item", "", 400},
		{"POST", "/item", strings.Repeat(" ", maxBody+1), 413},
		{"DELETE", "/item", "", 405},
		{"POST", "/search?q=oak", "", 405},
		{"GET", "/search", "", 400},
		{"GET", "/", "", 404},
	} {
		if code, got := call(h, c.method, c.target, c.body); code != c.want {
			t.Errorf("%s %s: status %d, want %d: %s", c.method, c.target, code, c.want, got)
		}
	}
}

func TestSearch(t *testing.T) {
	s := load(t.Context(), 2000, 1)
	hits := s.search("OAK")
	if len(hits) != topHits {
		t.Fatalf("%d hits, want %d", len(hits), topHits)
	}
	for i, h := range hits {
		text := strings.ToLower(s.get(h.ID).Name + " " + s.get(h.ID).Description)
		if n := strings.Count(text, "oak"); n != h.Score || i > 0 && n > hits[i-1].Score {
			t.Errorf("hit %d: %+v, but the word is there %d times", i, h, n)
		}
	}
	if _, got := call(handler(s), "GET", "/search?q=nothing", ""); got != `{"query":"nothing","hits":[]}` {
		t.Errorf("no hits: %s", got)
	}
}

func TestSameSeedSameData(t *testing.T) {
	a, b := load(t.Context(), 200, 5), load(t.Context(), 200, 5)
	for i := range a.shards {
		if !reflect.DeepEqual(a.shards[i].items, b.shards[i].items) {
			t.Errorf("shard %d differs", i)
		}
	}
	if reflect.DeepEqual(a.get(1), load(t.Context(), 1, 6).get(1)) {
		t.Error("another seed gives the same record")
	}
}

// TestLiveHeap holds the figure in the package comment.
func TestLiveHeap(t *testing.T) {
	testenv.Long(t)
	live := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := live()
	s := load(t.Context(), item.DefaultRecords, item.DefaultSeed)
	got := live() - before
	runtime.KeepAlive(s)
	t.Logf("live heap %.1f MB", float64(got)/1e6)
	if got < 195e6 || got > 205e6 {
		t.Errorf("live heap %d bytes, want about 200 MB", got)
	}
}

func TestRun(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"-records", "0"}, 2},
		{[]string{"-records", "many"}, 2},
		{[]string{"-addr", "nonsense"}, 2},
		{[]string{"-nope"}, 2},
		{[]string{"extra"}, 2},
		{[]string{"-addr", ln.Addr().String()}, 1},
	} {
		var stderr bytes.Buffer
		code := run(t.Context(), c.args, io.Discard, &stderr)
		if code != c.want || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%v: status %d, want %d and one line: %q", c.args, code, c.want, &stderr)
		}
	}
}

func TestShutdown(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	status := make(chan int, 1)
	go func() { status <- run(ctx, []string{"-addr", "127.0.0.1:0", "-records", "10"}, io.Discard, w) }()
	buf := make([]byte, 200)
	n, err := r.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(buf[:n]))
	resp, err := http.Get("http://" + f[len(f)-1] + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	stop()
	select {
	case code := <-status:
		if code != 0 {
			t.Errorf("status %d", code)
		}
	case <-time.After(time.Minute): // of a machine that may be busy
		t.Error("still running")
	}
}
