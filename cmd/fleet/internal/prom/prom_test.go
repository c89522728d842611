package prom

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

func client(t *testing.T, o Options) *Client {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answer is a vector of one sample of the rules, at a time.
func answer(at time.Time, warnings string) string {
	return fmt.Sprintf(`{"status":"success",%s"data":{"resultType":"vector","result":[{"metric":{"version":"1","interval":"120"},"value":[%d,"720"]}]}}`, warnings, at.Unix())
}

// What is wrong with a server is said in one line.
func TestErrors(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	serve := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	say := func(code int, body string) string {
		return serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, body) })
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	clear := say(200, "{}")
	for name, c := range map[string]struct {
		url, want string
		timeout   time.Duration
	}{
		"unknown authority": {secure.URL, "signed by unknown authority; see --ca-file", 0},
		"no TLS":            {strings.Replace(clear, "http", "https", 1), "does not speak TLS; use http://", 0},
		"nothing there":     {"http://" + closed.Addr().String(), "cannot reach http://127.0.0.1", 0},
		"no such host":      {"http://prometheus.invalid", "cannot reach", 0},
		"another server":    {say(200, "<html>hello</html>"), "not the API of Prometheus", 0},
		"another path":      {say(404, "404 page not found"), "is a path missing in the URL", 0},
		"an expired token":  {say(401, "unauthorized"), "missing, wrong or expired", 0},
		"no rights":         {say(403, "forbidden"), "no right to read", 0},
		"too much":          {say(422, `{"status":"error","errorType":"execution","error":"query processing would load too many samples"}`), "shorter --window", 0},
		"a bad query":       {say(400, `{"status":"error","errorType":"bad_data","error":"parse error: x"}`), "parse error: x", 0},
		"a scalar":          {say(200, `{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`), "want a vector", 0},
		"no rules":          {say(200, `{"status":"success","data":{"resultType":"vector","result":[]}}`), "its rules are not loaded", 0},
		"other rules": {say(200, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"version":"9","interval":"60"},"value":[1,"9"]}]}}`),
			"another version", 0},
		"no interval": {say(200, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"version":"1","interval":"-5"},"value":[1,"9"]}]}}`),
			"another version", 0},
		"slow": {serve(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Second):
			}
		}), "did not answer within 50ms", 50 * time.Millisecond},
	} {
		_, err := client(t, Options{URL: c.url, Timeout: c.timeout}).Status(context.Background(), time.Hour)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\"") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An answer that does not end is not read to its end.
func TestBounded(t *testing.T) {
	b := &body{http.NoBody, 3}
	b.ReadCloser = http.MaxBytesReader(nil, struct {
		*strings.Reader
		closer
	}{strings.NewReader("abcdef"), closer{}}, 100)
	n, err := b.Read(make([]byte, 6))
	if n != 6 || err != errTooLong {
		t.Errorf("%d, %v", n, err)
	}
}

type closer struct{}

func (closer) Close() error { return nil }

// The token and the headers are sent, the token as the file has it now.
func TestToken(t *testing.T) {
	var got []string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization")+" "+r.Header.Get("X-Scope-OrgID"))
		fmt.Fprint(w, answer(time.Now(), `"warnings":["store a did not answer","store a did not answer"],`))
	}))
	defer s.Close()
	dir := t.TempDir()
	token, ca := filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt")
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(token, "first\n")
	write(ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	c := client(t, Options{URL: s.URL, TokenFile: token, CAFile: ca, Headers: []string{"X-Scope-OrgID: team"}})
	for _, text := range []string{"", "second\n"} {
		if text != "" {
			write(token, text)
		}
		if _, err := c.Status(t.Context(), 24*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 2 || got[0] != "Bearer first team" || got[1] != "Bearer second team" {
		t.Errorf("%q", got)
	}
	if w := c.Warnings(); len(w) != 1 || !strings.Contains(w[0], "store a") || c.Queries() != 2 {
		t.Errorf("%q, %d queries", w, c.Queries())
	}
	// A certificate that nobody vouches for; a token that is gone.
	if _, err := client(t, Options{URL: s.URL}).Status(t.Context(), time.Hour); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(token); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context(), time.Hour); err == nil || !strings.Contains(err.Error(), token) {
		t.Errorf("%v", err)
	}
}

// Another clock, and less than the window, are said; times are the server's.
func TestStatus(t *testing.T) {
	for name, c := range map[string]struct {
		off    time.Duration
		window time.Duration
		want   []string
	}{
		"all is well": {0, 24 * time.Hour, nil},
		"behind":      {-2 * time.Hour, 24 * time.Hour, []string{"s behind this machine's"}},
		"ahead":       {2 * time.Hour, 24 * time.Hour, []string{"ahead of"}},
		"half a week": {0, 7 * 24 * time.Hour, []string{"evaluated for 1d of the last 7d"}},
	} {
		now := time.Now().Add(c.off)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer(now, "")) }))
		status, err := client(t, Options{URL: s.URL}).Status(t.Context(), c.window)
		s.Close()
		if err != nil || len(status.Notes) != len(c.want) || status.Now.Unix() != now.Unix() || status.Interval != 2*time.Minute {
			t.Errorf("%s: %+v, %v", name, status, err)
		}
		for i, want := range c.want {
			if i < len(status.Notes) && !strings.Contains(status.Notes[i], want) {
				t.Errorf("%s: %q", name, status.Notes)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"no scheme":           {URL: "prometheus:9090"},
		"a file":              {URL: "file:///etc/passwd"},
		"a password":          {URL: "http://me:secret@127.0.0.1"},
		"nothing":             {},
		"a token in clear":    {URL: "http://prometheus.example", TokenFile: "x"},
		"half a certificate":  {URL: "https://x", CertFile: "x"},
		"braces":              {URL: "http://x", Matcher: `a="b"} or {`},
		"no header":           {URL: "http://x", Headers: []string{"x"}},
		"a header of two":     {URL: "http://x", Headers: []string{"a: b\r\nc: d"}},
		"a token as header":   {URL: "http://x", Headers: []string{"authorization: Bearer x"}},
		"no such certificate": {URL: "https://x", CAFile: "/nonexistent"},
		"no such token":       {URL: "https://x", TokenFile: "/nonexistent"},
	} {
		o.Timeout = time.Second
		_, err := New(o)
		if err == nil || strings.Contains(err.Error(), "secret") || strings.HasPrefix(name, "no such") && !strings.HasSuffix(err.Error(), "-file: cannot read /nonexistent: no such file or directory") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Options{URL: "http://127.0.0.1:9090"}); err == nil {
		t.Error("no timeout is none")
	}
}

func TestQuote(t *testing.T) {
	c := client(t, Options{URL: "http://x", Matcher: `cluster="a", `})
	got := c.Select("x", Match{Label: "a", Value: "\"\\\n}"}, Match{Label: "b", Value: AnyOf([]string{"a.b", "c|d"}), Regexp: true})
	if want := `x{cluster="a", a="\x22\x5c\x0a}", b=~"a\x5c.b|c\x5c|d"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for d, want := range map[time.Duration]string{24 * time.Hour: "1d", 36 * time.Hour: "36h", 90 * time.Second: "90s", 10 * time.Minute: "10m", 1500 * time.Millisecond: "1500ms"} {
		if Duration(d) != want {
			t.Errorf("%v: %s", d, Duration(d))
		}
	}
}
