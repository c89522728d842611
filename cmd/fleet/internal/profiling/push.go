package profiling

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/node"
)

// A Pusher sends a profile of one container after the other to an endpoint that takes what
// Pyroscope's agents send (POST /ingest with pprof in a form).
type Pusher struct {
	Processes Processes
	URL       *url.URL
	TokenFile string // bearer token; "" for none
	Node      string
	Every     time.Duration // between two profiles
	Time      time.Duration // of each
	Client    *http.Client
	Log       *slog.Logger
	Write     func(ctx context.Context, w io.Writer, pid, rate int, d time.Duration) error

	last node.Labels
	said time.Time
}

// ParseURL reads the address of an endpoint.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an address of a server: want http://HOST:PORT or https://HOST", text)
	}
	return u, nil
}

// pushRate is that of the metrics: what is pushed is made all the time.
const pushRate = 19

// Run pushes until ctx ends. What fails is tried again with the next profile, and said
// once a minute.
func (p *Pusher) Run(ctx context.Context) {
	ticker := time.NewTicker(p.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		r, ok := p.next()
		if !ok {
			continue
		}
		if err := p.push(ctx, r); err != nil && ctx.Err() == nil && time.Since(p.said) >= time.Minute {
			p.said = time.Now()
			p.Log.Warn("cannot push a profile", "namespace", r.Namespace, "pod", r.Pod, "container", r.Container, "err", err)
		}
	}
}

// next is the container that follows the last one, by name, in a circle.
func (p *Pusher) next() (best node.Running, ok bool) {
	all := p.Processes.Running()
	for _, after := range []bool{true, false} {
		for _, r := range all { // those with the most heap first
			if after && !less(p.last, r.Labels) {
				continue
			}
			if !ok || less(r.Labels, best.Labels) {
				best, ok = r, true
			}
		}
		if ok {
			break
		}
	}
	p.last = best.Labels
	return best, ok && p.Processes.Same(best)
}

func less(a, b node.Labels) bool {
	return strings.Compare(a.Namespace+"\x00"+a.Pod+"\x00"+a.Container, b.Namespace+"\x00"+b.Pod+"\x00"+b.Container) < 0
}

func (p *Pusher) push(ctx context.Context, r node.Running) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("profile", "profile.pprof")
	if err != nil {
		return err
	}
	from := time.Now()
	if err := p.Write(ctx, part, r.PID, pushRate, p.Time); err != nil {
		return err
	}
	until := time.Now()
	if err := form.Close(); err != nil {
		return err
	}
	to := p.URL.JoinPath("ingest")
	to.RawQuery = url.Values{
		"name":       {name(r.Labels, p.Node)},
		"from":       {strconv.FormatInt(from.Unix(), 10)},
		"until":      {strconv.FormatInt(until.Unix(), 10)},
		"format":     {"pprof"},
		"spyName":    {"folio-agent"},
		"sampleRate": {strconv.Itoa(pushRate)},
	}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), &body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	if p.TokenFile != "" {
		token, err := os.ReadFile(p.TokenFile)
		if err != nil {
			return fmt.Errorf("cannot read the token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection is used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the server answers %s", resp.Status)
	}
	return nil
}

// name is the name of an application with its labels. What would end a label is left out.
func name(l node.Labels, nodeName string) string {
	tame := strings.NewReplacer("{", "_", "}", "_", ",", "_", "=", "_", "\"", "_").Replace
	return fmt.Sprintf("%s{namespace=%s,pod=%s,container=%s,node=%s}", tame(l.Container), tame(l.Namespace), tame(l.Pod), tame(l.Container), tame(nodeName))
}
