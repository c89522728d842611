// Package profiling makes CPU profiles of processes that run, in pprof's format, with the
// class of each sample as a label: on demand, and to be pushed.
package profiling

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/system/perf"
)

// Bounds of a profile.
const (
	Rate       = 97 // samples per second of CPU time
	ringBytes  = 64 << 10
	drainEvery = 500 * time.Millisecond

	defaultTime = 10 * time.Second
	mostTime    = time.Minute
)

// Write samples a process with its threads for a while, and writes the profile. The
// process is not touched.
func Write(ctx context.Context, w io.Writer, pid, rate int, d time.Duration) error {
	session, err := perf.Attach(pid, perf.Config{Frequency: rate, RingBytes: ringBytes})
	if err != nil {
		return err
	}
	defer session.Close()
	collector := profile.New(nil)
	defer collector.Close()
	handler := collector.Handler()
	ticker := time.NewTicker(drainEvery)
	defer ticker.Stop()
	began := time.Now()
	for time.Since(began) < d {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if err := session.Drain(handler); err != nil {
			return err
		}
	}
	return collector.WritePprof(w, time.Since(began))
}

// Processes finds processes: a [node.Node].
type Processes interface {
	Running() []node.Running
	Same(node.Running) bool
}

// A Handler answers GET /debug/profile?pod=NAMESPACE/NAME[&container=NAME][&seconds=N].
type Handler struct {
	Processes Processes
	Write     func(ctx context.Context, w io.Writer, pid, rate int, d time.Duration) error
	busy      chan struct{}
}

// NewHandler makes a handler that makes one profile at a time.
func NewHandler(p Processes) *Handler {
	return &Handler{Processes: p, Write: Write, busy: make(chan struct{}, 1)}
}

// A request is what is asked for.
type request struct {
	namespace, pod, container string
	time                      time.Duration
}

func parse(r *http.Request) (q request, err error) {
	v := r.URL.Query()
	for key := range v {
		switch key {
		case "pod", "container", "seconds":
		default:
			return q, fmt.Errorf("parameter %q is not known: want pod, container, seconds", key)
		}
	}
	q.pod, q.container, q.time = v.Get("pod"), v.Get("container"), defaultTime
	if q.pod == "" {
		return q, errors.New("which pod? pod=NAMESPACE/NAME, or pod=UID where the agent has no Kubernetes API")
	}
	if namespace, name, ok := strings.Cut(q.pod, "/"); ok {
		q.namespace, q.pod = namespace, name
	}
	if text := v.Get("seconds"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || time.Duration(n)*time.Second > mostTime {
			return q, fmt.Errorf("seconds=%q: want 1 to %d", text, mostTime/time.Second)
		}
		q.time = time.Duration(n) * time.Second
	}
	return q, nil
}

// find returns the process with the most live heap.
func (h *Handler) find(q request) (node.Running, bool) {
	for _, r := range h.Processes.Running() {
		if r.Namespace == q.namespace && r.Pod == q.pod && (q.container == "" || r.Container == q.container) && h.Processes.Same(r) {
			return r, true
		}
	}
	return node.Running{}, false
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
		return
	}
	q, err := parse(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	process, ok := h.find(q)
	if !ok {
		http.Error(w, "no Go process of this pod and container runs on this node", http.StatusNotFound)
		return
	}
	select {
	case h.busy <- struct{}{}:
		defer func() { <-h.busy }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "another profile is being made: try again", http.StatusTooManyRequests)
		return
	}
	body := &answer{w: w}
	if err := h.Write(r.Context(), body, process.PID, Rate, q.time); err != nil && !body.began {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// An answer is a profile with the header that it begins with: until then an error can be
// told.
type answer struct {
	w     http.ResponseWriter
	began bool
}

func (a *answer) Write(data []byte) (int, error) {
	if !a.began {
		a.began = true
		a.w.Header().Set("Content-Type", "application/octet-stream")
		a.w.Header().Set("Content-Disposition", `attachment; filename="profile.pb.gz"`)
		a.w.Header().Set("X-Content-Type-Options", "nosniff")
	}
	return a.w.Write(data)
}
