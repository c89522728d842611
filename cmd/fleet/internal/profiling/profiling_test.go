package profiling

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/node"
	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

type processes struct {
	all  []node.Running
	gone bool
}

func (p *processes) Running() []node.Running { return p.all }
func (p *processes) Same(node.Running) bool  { return !p.gone }

func running(pod, container string, pid int) node.Running {
	return node.Running{Labels: node.Labels{Namespace: "shop", Pod: pod, Container: container}, PID: pid}
}

func TestHandler(t *testing.T) {
	p := &processes{all: []node.Running{running("api-0", "big", 7), running("api-0", "small", 8)}}
	h := NewHandler(p)
	var asked []int
	var fail error
	h.Write = func(_ context.Context, w io.Writer, pid, rate int, d time.Duration) error {
		asked = append(asked, pid)
		if fail != nil {
			return fail
		}
		_, err := io.WriteString(w, "profile")
		return err
	}
	get := func(method, query string) (int, string, http.Header) {
		r := httptest.NewRecorder()
		h.ServeHTTP(r, httptest.NewRequest(method, "/debug/profile?"+query, nil))
		return r.Code, r.Body.String(), r.Header()
	}
	for _, c := range []struct {
		method, query string
		code          int
		text          string
	}{
		{"GET", "pod=shop/api-0", 200, "profile"},
		{"GET", "pod=shop/api-0&container=small&seconds=60", 200, "profile"},
		{"GET", "pod=shop/api-0&container=other", 404, "no Go process"},
		{"GET", "pod=other/api-0", 404, "no Go process"},
		{"GET", "pod=api-0", 404, "no Go process"},
		{"GET", "", 400, "which pod?"},
		{"GET", "pod=shop/api-0&seconds=61", 400, "want 1 to 60"},
		{"GET", "pod=shop/api-0&seconds=x", 400, "want 1 to 60"},
		{"GET", "pod=shop/api-0&x=y", 400, "not known"},
		{"POST", "pod=shop/api-0", 405, "want GET"},
	} {
		code, text, header := get(c.method, c.query)
		if code != c.code || !strings.Contains(text, c.text) {
			t.Errorf("%s %s: %d %s", c.method, c.query, code, text)
		}
		if code == 200 && header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("%v", header)
		}
	}
	if len(asked) != 2 || asked[0] != 7 || asked[1] != 8 {
		t.Errorf("asked for %v", asked)
	}
	fail = errors.New("sample process 7: it belongs to another user")
	if code, text, _ := get("GET", "pod=shop/api-0"); code != 500 || !strings.Contains(text, "another user") {
		t.Error(code, text)
	}
	h.busy <- struct{}{}
	if code, _, header := get("GET", "pod=shop/api-0"); code != 429 || header.Get("Retry-After") == "" {
		t.Error(code, header)
	}
	<-h.busy
	p.gone = true
	if code, _, _ := get("GET", "pod=shop/api-0"); code != 404 {
		t.Errorf("%d of a process that is another now", code)
	}
}

func TestPush(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var names []string
	status := 200
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		file, _, err := r.FormFile("profile")
		if err != nil {
			t.Error(err)
			return
		}
		data, _ := io.ReadAll(file)
		q := r.URL.Query()
		if r.Method != "POST" || r.URL.Path != "/base/ingest" || string(data) != "profile" || q.Get("format") != "pprof" ||
			q.Get("from") == "" || q.Get("until") == "" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %s %v: %q", r.Method, r.URL, r.Header, data)
		}
		names = append(names, q.Get("name"))
		w.WriteHeader(status)
	}))
	defer server.Close()
	u, err := ParseURL(server.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	p := &Pusher{
		Processes: &processes{all: []node.Running{running("b", "main", 2), running("a", "ma{in},x=\"y", 1), running("b", "main", 3)}},
		URL:       u, TokenFile: token, Node: "node-1", Client: server.Client(), Log: slog.New(slog.DiscardHandler),
		Write: func(_ context.Context, w io.Writer, _, _ int, _ time.Duration) error {
			_, err := io.WriteString(w, "profile")
			return err
		},
	}
	for range 3 {
		r, ok := p.next()
		if !ok {
			t.Fatal("nothing to push")
		}
		if err := p.push(context.Background(), r); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		"ma_in__x__y{namespace=shop,pod=a,container=ma_in__x__y,node=node-1}", "main{namespace=shop,pod=b,container=main,node=node-1}",
		"ma_in__x__y{namespace=shop,pod=a,container=ma_in__x__y,node=node-1}",
	}
	if strings.Join(names, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", names)
	}
	status = 401
	r, _ := p.next()
	if err := p.push(context.Background(), r); err == nil || !strings.Contains(err.Error(), "401") {
		t.Error(err)
	}
	p.Processes = &processes{}
	if _, ok := p.next(); ok {
		t.Error("a profile of nothing")
	}
}

func TestParseURL(t *testing.T) {
	for _, bad := range []string{"", "x", "ftp://x", "http://", "http://\x1b[2J", "localhost:4040"} {
		if u, err := ParseURL(bad); err == nil {
			t.Errorf("%q: %v", bad, u)
		}
	}
	if _, err := ParseURL("https://pyroscope.example:4040/x"); err != nil {
		t.Error(err)
	}
}
