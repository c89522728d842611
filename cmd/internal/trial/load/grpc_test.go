package load

import (
	"encoding/binary"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// calls answers calls of a method as a server of gRPC does, each by its number from 0.
func calls(t *testing.T, want string, answer func(n int64, w http.ResponseWriter)) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(body) < 5 || body[0] != 0 || binary.BigEndian.Uint32(body[1:]) != uint32(len(body)-5) || string(body[5:]) != want {
			t.Errorf("body %q, %v", body, err)
		}
		if r.Method != http.MethodPost || r.URL.Path != "/pkg.Svc/Do" || r.Header.Get("Content-Type") != "application/grpc" ||
			r.Header.Get("Te") != "trailers" || r.Header.Get("Grpc-Timeout") != "5000m" || r.Header.Get("X-Key") != "a" {
			t.Errorf("%s %s %v", r.Method, r.URL.Path, r.Header)
		}
		w.Header().Set("Content-Type", "application/grpc")
		answer(n.Add(1)-1, w)
	}
}

// ended writes a message and how the call ended.
func ended(w http.ResponseWriter, status, message string) {
	w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
	_, _ = w.Write([]byte{0, 0, 0, 0, 2, 8, 1})
	w.Header().Set("Grpc-Status", status)
	w.Header().Set("Grpc-Message", message)
}

func TestGRPC(t *testing.T) {
	for _, proto := range []string{"h2c", "h2"} {
		t.Run(proto, func(t *testing.T) {
			s := serve(t, proto, calls(t, "\x08\x07", func(n int64, w http.ResponseWriter) {
				switch n % 8 {
				case 0:
					ended(w, "5", "no such%0Athing\x1b[31m"+strings.Repeat("x", 300))
				case 1: // without an answer
					w.Header().Set("Grpc-Status", "14")
				case 2: // cut short
					_, _ = w.Write([]byte{0, 0, 0, 0, 2, 8, 1})
				case 3: // no message
					w.Header().Set("Grpc-Status", "0")
				case 4:
					ended(w, "99", "")
				case 5:
					w.WriteHeader(http.StatusServiceUnavailable)
				default:
					ended(w, "0", "")
				}
			}))
			o := Options{URLs: []string{s.URL}, GRPC: "/pkg.Svc/Do", Body: []byte("\x08\x07"), Headers: []Header{{"X-Key", "a"}},
				Rate: 400, Duration: 200 * time.Millisecond, TLS: trusting(s)}
			r, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if r.Intended != 80 || r.Succeeded != 20 || r.Failures != (Failures{Status: 10, GRPC: 50}) {
				t.Errorf("%+v", r.Counts)
			}
			if want := map[string]int64{"OK": 30, "NOT_FOUND": 10, "UNAVAILABLE": 10, "none": 20}; !maps.Equal(r.Codes, want) {
				t.Errorf("codes %v", r.Codes)
			}
			if r.Protocols["HTTP/2.0"] != 80 || r.Settings.GRPC != "pkg.Svc/Do" || r.Settings.Method != http.MethodPost {
				t.Errorf("%v, %+v", r.Protocols, r.Settings)
			}
			for _, e := range r.Errors {
				if e.Kind == kindGRPC && (len(e.Text) > 300 || strings.Contains(e.Text, "\n")) {
					t.Errorf("%q", e.Text)
				}
			}
			if err := r.Check(); err != nil {
				t.Error(err)
			}
			flags := strings.Join(r.Settings.Flags(), " ")
			if !strings.Contains(flags, "--target "+s.URL+" ") || !strings.Contains(flags, "--load-grpc pkg.Svc/Do") || strings.Contains(flags, "--load-http") {
				t.Error(flags)
			}
		})
	}
}

func TestCalled(t *testing.T) {
	header := func(kv ...string) http.Header {
		h := make(http.Header)
		for pair := range slices.Chunk(kv, 2) {
			h.Set(pair[0], pair[1])
		}
		return h
	}
	for _, c := range []struct {
		header, trailer http.Header
		n               int64
		code, err       string
	}{
		{nil, header("Grpc-Status", "0"), 7, "OK", ""},
		{nil, header("Grpc-Status", "0"), 0, "OK", "OK without a message"},
		{header("Grpc-Status", "16"), nil, 0, "UNAUTHENTICATED", "UNAUTHENTICATED"},
		{header("Grpc-Status", "0"), header("Grpc-Status", "13", "Grpc-Message", "a%20b%\r"), 7, "INTERNAL", "INTERNAL: a%20b% "},
		{nil, header("Grpc-Status", "-1"), 7, "none", "an unknown grpc-status: -1"},
		{nil, nil, 7, "none", "no grpc-status: the server ended the call early, or does not speak gRPC"},
	} {
		code, err := called(&http.Response{Header: c.header, Trailer: c.trailer}, c.n)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if code != c.code || text != c.err {
			t.Errorf("%v %v: %q, %q", c.header, c.trailer, code, text)
		}
	}
}

func TestGRPCOptions(t *testing.T) {
	for want, change := range map[string]func(*Options){
		`--grpc "Do": want package.Service/Method`:                      func(o *Options) { o.GRPC = "Do" },
		`--grpc "a/b/c": want package.Service/Method`:                   func(o *Options) { o.GRPC = "a/b/c" },
		`--grpc "a/b?c": want package.Service/Method`:                   func(o *Options) { o.GRPC = "a/b?c" },
		"--grpc with --http 1: gRPC is over HTTP/2; leave --http out":   func(o *Options) { o.HTTP = HTTP1 },
		"--grpc with --method GET: calls are POST requests":             func(o *Options) { o.Method = "GET" },
		"--header Content-Type: a call of gRPC has its own":             func(o *Options) { o.Headers = []Header{{"Content-Type", "x"}} },
		"is called by host and port alone, such as http://127.0.0.1:90": func(o *Options) { o.URLs = []string{"http://127.0.0.1:1/x"} },
	} {
		o := Options{URLs: []string{"http://127.0.0.1:1"}, GRPC: "a.b/C", Rate: 1, Duration: time.Second}
		if err := o.Check(); err != nil {
			t.Fatal(err)
		}
		change(&o)
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
