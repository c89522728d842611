// Command series is a time series database: the head of Prometheus' own, with 200,000
// series of 400 targets, and its query engine.
//
//	POST /append	appends a scrape of a target: 500 samples
//	POST /query	answers with the rates of some series of a target over its last minutes
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	_ "github.com/KimMachineGun/automemlimit" // by AUTOMEMLIMIT
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	_ "github.com/foliomem/folio/auto" // by FOLIO
	"github.com/foliomem/folio/internal/test/service"
)

func main() {
	service.Service{Name: "series", Body: func() ([]byte, error) { return []byte("{}"), nil }, Build: build}.Main()
}

const (
	targets = 400
	each    = 500 // series of a target
	metrics = 20  // of a target; each has 25 series
	scrapes = 20  // of each target, to begin with
	step    = 15 * time.Second
	window  = 5 * time.Minute // that queries look at
)

// A target is scraped every 15 seconds of a clock of its own, which a request moves on.
type target struct {
	mu   sync.Mutex
	now  time.Time
	refs []storage.SeriesRef
}

type store struct {
	head          *tsdb.Head
	engine        *promql.Engine
	targets       [targets]target
	lsets         [targets][each]labels.Labels
	writes, reads service.Keys
}

// begin is a fixed time: chunks are cut where their times say.
var begin = time.Unix(1_700_006_400, 0)

func build() (func(net.Listener) error, error) {
	// A head wants a directory for chunks that are full, into which only a database around
	// it puts them: it is gone when the head serves.
	dir, err := os.MkdirTemp("", "folio-series-")
	if err != nil {
		return nil, err
	}
	o := tsdb.DefaultHeadOptions()
	o.ChunkDirRoot = dir
	head, err := tsdb.NewHead(nil, slog.New(slog.DiscardHandler), nil, nil, o, nil)
	if err == nil {
		err = head.Init(begin.UnixMilli())
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return nil, err
	}
	s := &store{head: head, engine: promql.NewEngine(promql.EngineOpts{MaxSamples: 1e7, Timeout: time.Minute,
		LookbackDelta: window})}
	for i := range s.targets {
		t := &s.targets[i]
		t.now, t.refs = begin, make([]storage.SeriesRef, each)
		for j := range each {
			s.lsets[i][j] = labels.FromStrings(labels.MetricName, fmt.Sprintf("http_requests_%d_total", j%metrics), "job", "server",
				"instance", instance(i), "code", strconv.Itoa(200+j/metrics%5), "handler", fmt.Sprintf("/api/v1/handler-%d", j/metrics/5))
		}
	}
	for range scrapes {
		for i := range s.targets {
			if err := s.scrape(context.Background(), i); err != nil {
				return nil, err
			}
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /append", s.append)
	mux.HandleFunc("POST /query", s.query)
	return service.HTTP(mux), nil
}

func instance(i int) string { return fmt.Sprintf("host-%03d.example.com:9090", i) }

// scrape appends a sample to each series of a target.
func (s *store) scrape(ctx context.Context, i int) error {
	t := &s.targets[i]
	t.mu.Lock()
	defer t.mu.Unlock()
	app := s.head.Appender(ctx)
	at := t.now.UnixMilli()
	for j := range t.refs {
		v := float64(at-begin.UnixMilli()) / 1000 * float64(1+j%7)
		ref, err := app.Append(t.refs[j], s.lsets[i][j], at, v)
		if err != nil {
			return errors.Join(err, app.Rollback())
		}
		t.refs[j] = ref
	}
	t.now = t.now.Add(step)
	return app.Commit()
}

func fail(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

func (s *store) append(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	// One after the other: their clocks stay together.
	if err := s.scrape(r.Context(), int(s.writes.Count()%targets)); err != nil {
		fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *store) query(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	key := s.reads.Next()
	t := &s.targets[key%targets]
	t.mu.Lock()
	end := t.now.Add(-step)
	t.mu.Unlock()
	text := fmt.Sprintf(`sum by (code) (rate(http_requests_%d_total{instance=%q}[1m]))`, key>>32%metrics, instance(int(key%targets)))
	q, err := s.engine.NewRangeQuery(r.Context(), queryable{s.head}, nil, text, end.Add(-window), end, step)
	if err != nil {
		fail(w, err)
		return
	}
	defer q.Close()
	res := q.Exec(r.Context())
	if res.Err != nil {
		fail(w, res.Err)
		return
	}
	data, err := json.Marshal(res)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // a client that is gone needs no answer
}

// A queryable has a head alone.
type queryable struct{ head *tsdb.Head }

func (q queryable) Querier(from, to int64) (storage.Querier, error) {
	return tsdb.NewBlockQuerier(tsdb.NewRangeHead(q.head, from, to), from, to)
}
