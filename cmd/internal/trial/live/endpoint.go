package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/foliomem/folio/cmd/internal/trial/metric"
)

// An Endpoint is a counter or histogram of requests that a program shows in the text format of
// Prometheus.
type Endpoint struct {
	url, name string
	failed    int // readings, one after the other
}

// parseEndpoint reads URL#NAME. ok is false for what has another form.
func parseEndpoint(text string) (e *Endpoint, ok bool, err error) {
	at, name, found := strings.Cut(text, "#")
	if !found || !strings.HasPrefix(at, "http://") && !strings.HasPrefix(at, "https://") {
		return nil, false, nil
	}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return nil, true, fmt.Errorf("%s: not a URL", at)
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
	if !model.UTF8Validation.IsValidMetricName(name) {
		return nil, true, fmt.Errorf("%s: not the name of a metric", name)
	}
	return &Endpoint{url: at, name: name}, true, nil
}

func (e *Endpoint) String() string { return e.url + "#" + e.name }

const (
	endpointTimeout = time.Second
	// endpointTries is how many readings may fail one after the other.
	endpointTries = 3
	maxExposition = 64 << 20
)

// read reads the counters.
func (e *Endpoint) read(ctx context.Context) (totals, error) {
	ctx, cancel := context.WithTimeout(ctx, endpointTimeout)
	defer cancel()
	t, err := e.get(ctx)
	if err == nil {
		e.failed = 0
		return t, nil
	}
	if e.failed++; e.failed < endpointTries && !errors.Is(err, errMetric) {
		return t, errNoAnswer
	}
	return t, fmt.Errorf("--metric %s: %w", e, err)
}

func (e *Endpoint) close() {}

// errMetric is of answers that will not be better the next time.
var errMetric = errors.New("")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%s%w", fmt.Sprintf(format, args...), errMetric)
}

func (e *Endpoint) get(ctx context.Context) (t totals, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url, nil)
	if err != nil {
		return t, err
	}
	req.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return t, reason(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return t, wrong("the server answers %s", resp.Status)
	}
	return parse(io.LimitReader(resp.Body, maxExposition), e.name)
}

// reason is the error of a request without what is said of it anyway.
func reason(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		if u.Timeout() {
			return fmt.Errorf("no answer within %v", endpointTimeout)
		}
		return u.Err
	}
	return err
}

// parse finds a metric in the text format, and adds up its series.
func parse(r io.Reader, name string) (t totals, err error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(r)
	f := all[name]
	switch {
	case err != nil:
		return t, wrong("not the text format of Prometheus: %v", err)
	case f == nil:
		return t, wrong("there is no metric %s", name)
	}
	buckets := make(map[float64]float64)
	for _, m := range f.GetMetric() {
		n := 0.0
		switch f.GetType() {
		case dto.MetricType_COUNTER:
			n = m.GetCounter().GetValue()
		case dto.MetricType_HISTOGRAM:
			h := m.GetHistogram()
			n = float64(h.GetSampleCount())
			for _, b := range h.GetBucket() {
				buckets[b.GetUpperBound()] += float64(b.GetCumulativeCount())
			}
		case dto.MetricType_SUMMARY:
			n = float64(m.GetSummary().GetSampleCount())
		default:
			return t, wrong("%s is a %s: want a counter, histogram or summary", name, strings.ToLower(f.GetType().String()))
		}
		if math.IsNaN(n) || n < 0 {
			return t, wrong("%s is %v", name, n)
		}
		t.count += n
		if isError(m.GetLabel()) {
			t.errors += n
		}
	}
	for most, n := range buckets {
		if !math.IsInf(most, 1) {
			t.buckets = append(t.buckets, bucket{most, n})
		}
	}
	if t.buckets != nil {
		slices.SortFunc(t.buckets, func(a, b bucket) int { return int(math.Copysign(1, a.most-b.most)) })
		t.buckets = append(t.buckets, bucket{math.Inf(1), t.count})
	}
	return t, nil
}

// errorLabels are labels that say what became of a request.
var errorLabels = []string{"code", "status", "status_code", "http_status_code", "http_response_status_code", "grpc_code"}

// errorCodes are those of gRPC for failures of a server.
var errorCodes = []string{"Unknown", "DeadlineExceeded", "ResourceExhausted", "Internal", "Unavailable", "DataLoss"}

// isError reports whether a series is of requests that failed.
func isError(labels []*dto.LabelPair) bool {
	return slices.ContainsFunc(labels, func(l *dto.LabelPair) bool {
		v := l.GetValue()
		return slices.Contains(errorLabels, l.GetName()) && (len(v) == 3 && v[0] == '5' || slices.Contains(errorCodes, v))
	})
}

// ParseMetric reads --metric of a process that runs: URL#NAME, which counts its requests, a
// figure of these, or FIGURE=URL#NAME. spec is nil for the default. Errors also say what in the
// options does not go together.
func (o *Options) ParseMetric(text string) (spec *metric.Spec, err error) {
	figure, at, both := strings.Cut(text, "=")
	if !both || strings.Contains(figure, ":") {
		figure, at = text, text
	}
	e, ok, err := parseEndpoint(at)
	o.Endpoint = e
	counted := ok || o.Load != nil
	switch {
	case err != nil:
		return nil, fmt.Errorf("--metric %w", err)
	case ok && o.Load != nil:
		return nil, errors.New("--metric URL#NAME and --rate: give one, that counts the requests")
	case !counted && (o.MaxErrors != nil || o.MaxP99 > 0):
		return nil, errors.New("--max-p99 and --max-errors go with --metric URL#NAME or --rate: what counts the requests?")
	case text == "" || ok && at == text:
		return nil, nil
	case figure == metric.CPUPerGiB && (ok || !both), slices.Contains([]string{metric.CPUPerRequest, metric.P50, metric.P99}, figure) && counted && (ok || !both):
		return &metric.Spec{Name: figure}, nil
	}
	return nil, fmt.Errorf("--metric %s: want cpu/GiB, URL#NAME of a counter or histogram in the text format of Prometheus, or with that or --rate cpu/request, p50 or p99, as in p99=URL#NAME", text)
}
