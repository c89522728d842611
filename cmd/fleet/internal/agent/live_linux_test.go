package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/foliomem/folio/cmd/fleet/internal/exposition"
	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/fleet/internal/pod"
	"github.com/foliomem/folio/cmd/fleet/internal/profiling"
	"github.com/foliomem/folio/cmd/fleet/internal/sampler"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{"load": load})
	os.Exit(m.Run())
}

var sink, live [][]byte // what is on the stack and never read, the GC does not keep

// load has 32 MiB, and makes garbage until its standard input ends.
func load() error {
	live = make([][]byte, 1024)
	for i := range live {
		live[i] = make([]byte, 32<<10)
		for j := range live[i] {
			live[i][j] = 1
		}
	}
	end := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(end) }()
	fmt.Println("ready")
	for i := 0; ; i++ {
		select {
		case <-end:
			return nil
		default:
			sink = append(sink[:0], make([]byte, 32<<10))
			live[i%len(live)] = sink[0]
		}
	}
}

const (
	uid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	// evil is what no API server lets a pod be called.
	evil = "a\"} 1\n# HELP x\x1b]0;owned\a\u202e\\"
)

var container = strings.Repeat("ab", 32)

type names struct{}

func (names) Find(_, id string) (pod.Name, bool) {
	return pod.Name{Namespace: "shop", Pod: "api-0", Container: evil}, id == container
}
func (names) Has(string) bool { return true }
func (names) Synced() bool    { return true }
func (names) Pods() int       { return 1 }

// scrape reads the metrics as Prometheus would.
func scrape(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if promtool, err := exec.LookPath("promtool"); err == nil {
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = strings.NewReader(string(text))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("promtool check metrics: %v\n%s", err, out)
		}
	}
	return families
}

// value returns the value of the series of the pod with more labels, "name", "value".
func value(families map[string]*dto.MetricFamily, name string, more ...string) (float64, bool) {
	for _, m := range families[name].GetMetric() {
		have := map[string]string{}
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		ok := have["pod"] == "api-0"
		for i := 0; i < len(more); i += 2 {
			ok = ok && have[more[i]] == more[i+1]
		}
		if ok {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue(), true
		}
	}
	return 0, false
}

// A scrape of a Go program that runs.
func TestScrape(t *testing.T) {
	testenv.Long(t)
	cmd := testenv.Role(t, "load", "GOGC=50", "GOMEMLIMIT=1GiB", "GOMAXPROCS=2")
	in, out := testenv.Start(t, cmd)
	defer func() { in.Close(); _ = cmd.Wait() }()
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	late := time.Duration(0)
	n := node.New(node.Config{
		FS: procmem.New(""), Pods: names{}, Looker: node.NewSystem(), Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Now().Add(late) },
		Cgroup: func(pid int) []byte {
			if pid == cmd.Process.Pid {
				return []byte("0::/kubepods/pod" + uid + "/" + container + "\n")
			}
			return []byte("0::/\n")
		},
	})
	defer n.Close()
	a := New(n, Options{Budget: 1, Version: "v0", Log: slog.New(slog.DiscardHandler)})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(exposition.New("node-1", a))
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()

	if err := n.Scan(); err != nil {
		t.Fatal(err)
	}
	s := sampler.New(n, nil)
	defer s.Close()
	sampled := true
	if err := s.Begin(); err != nil {
		sampled = false
		t.Logf("not sampled: %v", err)
		if os.Geteuid() == 0 {
			testenv.Missing(t, "%v", err)
		}
	}
	testenv.Eventually(t, "samples", func() bool {
		if err := s.Drain(); err != nil {
			t.Fatal(err)
		}
		return !sampled || s.Counts()[metrics.OutcomeClassed] >= 100
	})
	if err := n.Scan(); err != nil { // the process is the one that was sampled
		t.Fatal(err)
	}
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for late += time.Hour; n.Look(); { // what took long is looked at again much later
		}
	}
	families := scrape(t, server.URL)
	at := func(name string, more ...string) float64 {
		t.Helper()
		v, ok := value(families, name, more...)
		if !ok {
			t.Errorf("no %s %v", name, more)
		}
		return v
	}
	cpu, faults := at(metrics.CPUSeconds), at(metrics.PageFaults, "kind", "minor")
	if sampled {
		tax, whole := 0.0, at(metrics.SampledCPUSeconds)
		for _, class := range metrics.MemoryClasses {
			tax += at(metrics.MemoryTaxCPUSeconds, "class", class)
		}
		// It does nothing but allocate and clear memory.
		if !(whole > 0 && whole <= cpu+1e-9 && tax > whole/4 && tax <= whole+1e-9) {
			t.Errorf("memory tax %v s of %v s, CPU time %v s", tax, whole, cpu)
		}
	}
	const mib = 1 << 20
	if v := at(metrics.LiveHeapBytes); v < 16*mib || v > 256*mib {
		t.Errorf("live heap %v", v)
	}
	if v := at(metrics.HeapResidentBytes); v < 32*mib || v > at(metrics.ResidentBytes, "kind", "anon")*1.5 {
		t.Errorf("heap resident %v", v)
	}
	if v := at(metrics.HeapHugeBytes) + at(metrics.HeapGainBytes); v > 2*at(metrics.HeapResidentBytes) {
		t.Errorf("on huge pages or to gain %v", v)
	}
	at(metrics.HeapBloatBytes)
	at(metrics.HeapGoalBytes)
	if v := at(metrics.GOGCPercent); v != 50 {
		t.Errorf("GOGC %v", v)
	}
	if v := at(metrics.GOMEMLIMITBytes); v != 1<<30 {
		t.Errorf("GOMEMLIMIT %v", v)
	}
	if at(metrics.GoProcesses) != 1 || at(metrics.UnreadProcesses) != 0 || at(metrics.GoInfo, "module", "github.com/foliomem/folio/cmd/fleet") != 1 {
		t.Error("processes and what they are")
	}
	contract(t, families)

	handler := profiling.NewHandler(n)
	recorder := httptest.NewRecorder()
	if sampled {
		handler.ServeHTTP(recorder, httptest.NewRequest("GET", "/debug/profile?pod=shop/api-0&seconds=1", nil))
		p, err := profile.Parse(recorder.Body)
		if recorder.Code != 200 || err != nil || len(p.Sample) == 0 || len(p.Sample[0].Label["class"]) != 1 {
			t.Errorf("%d, %v", recorder.Code, err)
		}
	}

	// What ended stays counted.
	in.Close()
	_ = cmd.Wait()
	if err := n.Scan(); err != nil {
		t.Fatal(err)
	}
	families = scrape(t, server.URL)
	if at(metrics.CPUSeconds) < cpu || at(metrics.PageFaults, "kind", "minor") < faults || at(metrics.GoProcesses) != 0 {
		t.Error("counters of a process that ended")
	}
	if _, ok := value(families, metrics.LiveHeapBytes); ok {
		t.Error("a live heap of a process that ended")
	}
}

// contract checks that there is nothing but what package metrics promises.
func contract(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	series := 0
	for name, f := range families {
		for _, m := range f.GetMetric() {
			series++
			have := map[string]bool{}
			for _, l := range m.GetLabel() {
				have[l.GetName()] = true
				if strings.ContainsAny(l.GetValue(), "\n\x1b\a") || len(l.GetValue()) > metrics.MaxLabelBytes {
					t.Errorf("%s: label %q", name, l.GetValue())
				}
			}
			if !have[metrics.LabelNode] || have["pid"] {
				t.Errorf("%s has labels %v", name, have)
			}
			if own := strings.HasPrefix(name, "folio_agent_"); own == have[metrics.LabelPod] {
				t.Errorf("%s has labels %v", name, have)
			}
		}
	}
	if series > 3*metrics.PerContainer+64 {
		t.Errorf("%d series of two containers", series)
	}
}

// memories are how many files with the memory of processes are open.
func memories(t *testing.T) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range all {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "/proc/") && strings.HasSuffix(to, "/mem") {
			n++
		}
	}
	return n
}

// The agent runs, within a budget, until it is told to end. Then no process is open.
func TestRun(t *testing.T) {
	var late atomic.Int64
	n := node.New(node.Config{
		FS: procmem.New(""), Looker: node.NewSystem(), Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Now().Add(time.Duration(late.Load())) },
	})
	before := memories(t)
	a := New(n, Options{Budget: 1, Log: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	testenv.Eventually(t, "a scan", func() bool { return n.Snapshot().Stats.Go > 0 && a.Own().CPUSeconds > 0 })
	late.Store(int64(time.Hour)) // all are looked at now
	testenv.Eventually(t, "a look", func() bool { return memories(t) > before })
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if after := memories(t); after != before {
		t.Errorf("the memory of %d processes is open, %d before", after, before)
	}
}

func TestBudget(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBudget(0.01, 0, now)
	used := 0.0
	tick := func(cpu float64) { now, used = now.Add(time.Second), used+cpu; b.tick(used, now) }
	for range 300 {
		tick(0)
	}
	if b.credit != mostCredit {
		t.Errorf("credit %v", b.credit)
	}
	tick(100)
	if b.ok() || b.credit != -mostDebt {
		t.Errorf("credit %v", b.credit)
	}
	for range 250 {
		tick(0)
	}
	if !b.ok() {
		t.Errorf("credit %v", b.credit)
	}
}
