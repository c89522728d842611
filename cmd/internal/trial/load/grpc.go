package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A unary call of gRPC is a POST over HTTP/2 (the protocol is described in
// github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md): each message has five bytes before it, and
// how the call ended is said behind the answer, in its trailers.

// framePrefix is what is before a message: whether it is compressed, and its length.
const framePrefix = 5

// frame returns the body of a call.
func frame(message []byte) []byte {
	out := make([]byte, framePrefix, framePrefix+len(message))
	binary.BigEndian.PutUint32(out[1:], uint32(len(message)))
	return append(out, message...)
}

// checkGRPC checks and completes options of a call, and returns an error for what cannot go
// with one.
func (o *Options) checkGRPC() error {
	service, method, ok := strings.Cut(strings.TrimPrefix(o.GRPC, "/"), "/")
	name := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
			return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '.')
		})
	}
	switch {
	case !ok || !name(service) || !name(method):
		return fmt.Errorf("--grpc %q: want package.Service/Method", o.GRPC)
	case o.HTTP == HTTP1:
		return errors.New("--grpc with --http 1: gRPC is over HTTP/2; leave --http out")
	case o.Method != "" && o.Method != http.MethodPost:
		return fmt.Errorf("--grpc with --method %s: calls are POST requests; leave --method out", o.Method)
	case len(o.Body) > maxMessage:
		return fmt.Errorf("--grpc: a message of %d bytes is more than %d", len(o.Body), maxMessage)
	}
	for _, h := range o.Headers {
		switch h.Name {
		case "Content-Type", "Te", "Grpc-Timeout":
			return fmt.Errorf("--header %s: a call of gRPC has its own", h.Name)
		}
	}
	o.GRPC, o.HTTP, o.Method = service+"/"+method, HTTP2, http.MethodPost
	return nil
}

// maxMessage is the largest message.
const maxMessage = 1 << 30

// callURL checks the URL of a server that is called.
func (o *Options) callURL(u *url.URL) error {
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return fmt.Errorf("%q: a server of gRPC is called by host and port alone, such as http://127.0.0.1:9090", u.Redacted())
	}
	u.Path = "/" + o.GRPC
	return nil
}

// callHeader returns the headers of a call.
func (o *Options) callHeader() http.Header {
	return http.Header{
		"Content-Type": {"application/grpc"}, "Te": {"trailers"},
		// For the server: what takes longer is not waited for. 8 digits are allowed.
		"Grpc-Timeout": {strconv.FormatInt((o.Timeout+time.Millisecond-1).Milliseconds(), 10) + "m"},
	}
}

// codes are the names of gRPC's status codes.
var codes = []string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
	"UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

// noCode is the name of an answer without a status of gRPC.
const noCode = "none"

// called says how a call ended whose answer, of n bytes, was read to its end: the name of
// its code, and an error for any but OK.
func called(resp *http.Response, n int64) (code string, err error) {
	status, message := resp.Trailer.Get("Grpc-Status"), resp.Trailer.Get("Grpc-Message")
	if status == "" { // an answer of trailers alone has them where headers are
		status, message = resp.Header.Get("Grpc-Status"), resp.Header.Get("Grpc-Message")
	}
	if status == "" {
		return noCode, errors.New("no grpc-status: the server ended the call early, or does not speak gRPC")
	}
	i, err := strconv.Atoi(status)
	switch {
	case err != nil || i < 0 || i >= len(codes):
		return noCode, errors.New("an unknown grpc-status: " + shortened(status))
	case i > 0:
		text := codes[i]
		if message != "" {
			text += ": " + shortened(message)
		}
		return codes[i], errors.New(text)
	case n < framePrefix:
		return codes[0], errors.New("OK without a message")
	}
	return codes[0], nil
}

// shortened is a text of a server on one line, not too long.
func shortened(s string) string {
	if t, err := url.PathUnescape(s); err == nil { // grpc-message is percent-encoded
		s = t
	}
	const most = 200
	out := make([]rune, 0, most)
	for _, r := range s {
		if len(out) == most {
			return string(out) + "..."
		}
		if unicode.IsSpace(r) {
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}
