package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foliomem/folio/examples/jsonserver/internal/item"
)

// fake answers as the server does and counts requests by kind.
type fake struct{ gets, posts, searches atomic.Int64 }

func (f *fake) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.URL.Path == "/search":
		f.searches.Add(1)
		fmt.Fprintf(w, `{"query":%q,"hits":[]}`, req.FormValue("q"))
	case req.Method == "POST":
		f.posts.Add(1)
		b, err := io.ReadAll(req.Body)
		var rec item.Record
		if err == nil {
			err = json.Unmarshal(b, &rec)
		}
		if err != nil || len(rec.Parts) == 0 {
			http.Error(w, fmt.Sprint("bad body: ", err), http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"id":%d,"rev":1}`, rec.ID)
	default:
		f.gets.Add(1)
		fmt.Fprintf(w, `{"id":%s,"rev":0}`, req.FormValue("id"))
	}
}

// try runs the program and returns its status and output.
func try(args ...string) (int, string, string) {
	var stdout, stderr bytes.Buffer
	code := run(args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestCounts(t *testing.T) {
	f := new(fake)
	srv := httptest.NewServer(f)
	defer srv.Close()
	code, out, errs := try("-url", srv.URL, "-requests", "1001", "-records", "10")
	line := regexp.MustCompile(`^1001 requests in \d+\.\d\ds: \d+\.\d op/s, p50 [\d.]+ms p99 [\d.]+ms max [\d.]+ms\n$`)
	if code != 0 || errs != "" || !line.MatchString(out) {
		t.Fatalf("status %d, %q, %q", code, out, errs)
	}
	g, p, s := f.gets.Load(), f.posts.Load(), f.searches.Load()
	if g+p+s != 1001 || g < 550 || p < 300 || s < 20 {
		t.Errorf("%d gets, %d posts, %d searches", g, p, s)
	}
	if code, _, errs := try("-url", srv.URL, "-requests", "1", "-records", "1"); code != 0 {
		t.Errorf("fewer requests than clients: status %d, %s", code, errs)
	}
}

func TestFailures(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close() // nothing listens there now
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"id":1000,"query":"none"}`)
	}))
	defer other.Close()
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	hangup := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body)
		panic(http.ErrAbortHandler)
	}))
	defer hangup.Close()

	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-url", "http://" + ln.Addr().String()}, 1, "refused"},
		{[]string{"-url", other.URL, "-records", "100"}, 1, "does not begin with"},
		{[]string{"-url", missing.URL}, 1, "404 Not Found"},
		{[]string{"-url", hangup.URL}, 1, "EOF"},
		{[]string{"-url", "localhost:8080"}, 2, "-url"},
		{[]string{"-requests", "0"}, 2, "at least 1"},
		{[]string{"-clients", "x"}, 2, "-clients"},
		{[]string{"extra"}, 2, "extra"},
	} {
		code, out, errs := try(c.args...)
		if code != c.code || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%v: status %d, %q, %q; want status %d and a line with %q", c.args, code, out, errs, c.code, c.want)
		}
	}
}
