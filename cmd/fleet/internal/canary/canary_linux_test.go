package canary

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/foliomem/folio/cmd/fleet/internal/act"
	"github.com/foliomem/folio/cmd/fleet/internal/prom"
	"github.com/foliomem/folio/cmd/fleet/internal/test/promtest"
	"github.com/foliomem/folio/cmd/fleet/internal/workload"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/internal/test/testenv"
)

// A cluster has pods of one workload, and stands in for their agents: a pod with a lease has the
// setting, and its counters rise as the test says.
type cluster struct {
	t         *testing.T
	client    *fake.Clientset
	namespace string

	mu     sync.Mutex
	begin  time.Time
	last   time.Time
	totals map[string]map[string]float64 // of pods, by series
	most   int                           // pods that had the setting at the same time
	// figures are those of a pod at a moment, given whether it has the setting and what the seconds
	// since the last are.
	figures func(pod string, set bool, seconds float64, totals map[string]float64)
}

func newCluster(t *testing.T, namespace string, pods int) *cluster {
	c := &cluster{t: t, client: fake.NewClientset(), namespace: namespace, totals: make(map[string]map[string]float64), begin: time.Now(), last: time.Now()}
	c.figures = func(pod string, set bool, seconds float64, n map[string]float64) { steady(pod, set, seconds, n) }
	for i := range pods {
		c.add(fmt.Sprintf("%s-api-5d4f-%d", namespace, i), "api-5d4f")
	}
	c.add(namespace+"-other-77aa-0", "other-77aa")
	return c
}

func (c *cluster) add(name, owner string) {
	c.t.Helper()
	hash := owner[strings.LastIndexByte(owner, '-')+1:]
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: c.namespace, UID: types.UID("uid-" + name), Labels: map[string]string{"pod-template-hash": hash},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, Controller: new(true)}},
	}}
	p.Spec.Containers = []corev1.Container{{Name: "main"}}
	p.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "main"}},
	}
	if _, err := c.client.CoreV1().Pods(c.namespace).Create(c.t.Context(), p, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.totals[name] = make(map[string]float64)
}

// change changes the pod that a function chooses by whether it has a lease.
func (c *cluster) change(with bool, how func(p *corev1.Pod)) {
	for _, p := range c.pods() {
		if _, has := p.Annotations[act.LeaseAnnotation]; has == with && strings.Contains(p.Name, "-api-") {
			how(&p)
			if _, err := c.client.CoreV1().Pods(c.namespace).Update(context.Background(), &p, metav1.UpdateOptions{}); err != nil {
				c.t.Error(err)
			}
			return
		}
	}
}

func (c *cluster) pods() []corev1.Pod {
	list, err := c.client.Tracker().List(corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithKind("Pod"), c.namespace)
	if err != nil {
		c.t.Error(err)
		return nil
	}
	return list.(*corev1.PodList).Items
}

// steady is a pod that does 1 GiB a second for 1 s of CPU time, and with the setting for 0.7 s.
// Those of even names have twice the load.
func steady(pod string, set bool, seconds float64, n map[string]float64) {
	load, cost := 1+float64((pod[len(pod)-1]+1)%2), 1.0
	n["folio_set_processes"], n["folio_resident_bytes"] = 0, 1<<20
	delete(n, "folio_set_gogc_percent")
	if set {
		cost = 0.7
		n["folio_set_processes"], n["folio_set_gogc_percent"], n["folio_resident_bytes"] = 1, 400, 1.5*(1<<20)
	}
	n["folio_allocated_bytes_total"] += load * seconds * (1 << 30)
	n["folio_allocating_cpu_seconds_total"] += load * seconds * cost
	n["folio_cpu_seconds_total"] += load * seconds * cost
	n["http_requests_total"] += 1000 * load * seconds
	n["http_errors_total"] += 0
	n["folio_cgroup_memory_bytes"], n["folio_cgroup_page_cache_bytes"], n["folio_cgroup_memory_limit_bytes"] = 50, 10, 100
	n["p99_seconds"] = 0.010
}

// ServeHTTP is what Prometheus scrapes.
func (c *cluster) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	seconds := now.Sub(c.last).Seconds()
	c.last = now
	have := 0
	for _, p := range c.pods() {
		l, err := act.ParseLease(p.Annotations[act.LeaseAnnotation])
		set := err == nil && now.Before(l.Until)
		if set {
			have++
		}
		n := c.totals[p.Name]
		c.figures(p.Name, set, seconds, n)
		for _, name := range slices.Sorted(maps.Keys(n)) {
			metric, more, _ := strings.Cut(name, ",")
			fmt.Fprintf(w, "%s{namespace=%q,pod=%q,container=\"main\",%s} %g\n", metric, c.namespace, p.Name, more, n[name])
		}
	}
	c.most = max(c.most, have)
}

// A hall serves the clusters of all tests to one Prometheus.
type hall struct {
	mu  sync.Mutex
	all []*cluster
}

func (h *hall) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.all {
		c.ServeHTTP(w, r)
	}
}

func (h *hall) open(t *testing.T, namespace string, pods int) *cluster {
	c := newCluster(t, namespace, pods)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, c)
	return c
}

func newHall(t *testing.T) (*hall, *prom.Client, *promtest.Server) {
	t.Helper()
	h := &hall{}
	exporter := httptest.NewServer(h)
	t.Cleanup(exporter.Close)
	p := promtest.New(t)
	p.Start(t, fmt.Sprintf("scrape_configs: [{job_name: a, honor_labels: true, scrape_interval: 100ms, scrape_timeout: 100ms, static_configs: [{targets: [%q]}]}]\n", strings.TrimPrefix(exporter.URL, "http://")))
	client, err := prom.New(prom.Options{URL: p.URL, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return h, client, p
}

func (c *cluster) canary(source Source) *Canary {
	return &Canary{Pods: c.client, Source: source, Options: Options{
		Name: workload.Name{Namespace: c.namespace, Workload: "api"}, GOGC: "400", Share: 1, Rounds: 1,
		Block: time.Second, Settle: 2 * time.Second, Every: 200 * time.Millisecond, Seed: 1,
		Requests: "sum by (pod) (http_requests_total{namespace=\"" + c.namespace + "\"})", Errors: "sum by (pod) (http_errors_total{namespace=\"" + c.namespace + "\"})",
		P99: "p99_seconds{namespace=\"" + c.namespace + "\"}",
	}}
}

// scraped waits until the server has the pods.
func scraped(t *testing.T, source Source, n *Canary) {
	t.Helper()
	if err := n.Check(); err != nil {
		t.Fatal(err)
	}
	if err := n.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "figures", func() bool { return n.known(t.Context()) == nil })
}

// whenLeased does something once a pod has a lease.
func (c *cluster) whenLeased(do func()) {
	for !slices.ContainsFunc(c.pods(), func(p corev1.Pod) bool { return p.Annotations[act.LeaseAnnotation] != "" }) {
		time.Sleep(10 * time.Millisecond)
	}
	do()
}

// clean checks that no pod has a lease.
func (c *cluster) clean() {
	c.t.Helper()
	for _, p := range c.pods() {
		if v, has := p.Annotations[act.LeaseAnnotation]; has {
			c.t.Errorf("pod %s still has %s", p.Name, v)
		}
	}
}

func TestCanary(t *testing.T) {
	h, source, _ := newHall(t)
	for _, of := range []struct {
		name   string
		change func(n *Canary)
		unit   string
	}{
		{"allocated", func(n *Canary) { n.Requests, n.Errors, n.P99 = "", "", "" }, "CPU seconds per GiB allocated"},
		{"requests", func(*Canary) {}, "CPU seconds per request"},
	} {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			c := h.open(t, "works-"+of.name, 5)
			n := c.canary(source)
			of.change(n)
			scraped(t, source, n)
			if g := n.Groups(); len(g[0]) != 2 || len(g[1]) != 2 {
				t.Fatalf("groups %v: want two of two of the five pods", g)
			}
			r, err := n.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.clean()
			if r.Rounds != 1 || len(r.Blocks) != 2 || r.Unit != of.unit || r.Blocks[0].With == r.Blocks[1].With {
				t.Errorf("%+v", r)
			}
			// The groups differ in their load, not in what it costs.
			if r.Cost.Ratio < 0.69 || r.Cost.Ratio > 0.71 || r.RSS.Ratio < 1.49 || r.RSS.Ratio > 1.51 {
				t.Errorf("cost %+v, RSS %+v; want 0.7, 1.5", r.Cost, r.RSS)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.most != 2 {
				t.Errorf("%d pods had the setting at a time, want 2", c.most)
			}
		})
	}
}

// Each doubt ends a comparison, and no pod keeps the setting.
func TestStops(t *testing.T) {
	h, source, _ := newHall(t)
	figures := func(how func(set bool, n map[string]float64)) func(*cluster, *Canary) {
		return func(c *cluster, _ *Canary) {
			c.figures = func(pod string, set bool, seconds float64, n map[string]float64) {
				steady(pod, set, seconds, n)
				how(set, n)
			}
		}
	}
	pod := func(with bool, how func(p *corev1.Pod)) func(*cluster, *Canary) {
		return func(c *cluster, n *Canary) {
			go c.whenLeased(func() { c.change(with, how) })
		}
	}
	for i, of := range []struct {
		want string
		make func(c *cluster, n *Canary)
	}{
		{"was restarted (main: OOMKilled, exit code 137)", pod(true, func(p *corev1.Pod) {
			s := &p.Status.ContainerStatuses[0]
			s.RestartCount, s.LastTerminationState.Terminated = 1, &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}
		})},
		{"is not ready", pod(false, func(p *corev1.Pod) { p.Status.Conditions = nil })},
		{"is gone", pod(true, func(p *corev1.Pod) { p.UID = "another" })},
		{"uses 92.0% of its memory limit, more than 90.0%", figures(func(set bool, n map[string]float64) {
			if set {
				n["folio_cgroup_memory_bytes"] = 102
			}
		})},
		{"has an RSS of 1.500MiB, more than --max-rss 1MiB", func(_ *cluster, n *Canary) { n.MaxRSS = 1 << 20 }},
		{"p99 of 300.0ms, more than --max-p99 200ms", func(c *cluster, n *Canary) {
			n.MaxP99 = 200 * time.Millisecond
			figures(func(set bool, n map[string]float64) {
				if set {
					n["p99_seconds"] = 0.3
				}
			})(c, n)
		}},
		{"more than --max-errors 1%", func(c *cluster, n *Canary) {
			n.MaxErrors, _ = tune.ParseMaxErrors("1%")
			figures(func(set bool, n map[string]float64) {
				if set {
					n["http_errors_total"] = n["http_requests_total"] / 10
				}
			})(c, n)
		}},
		{"did not get the setting: does folio-agent act run on its node", figures(func(_ bool, n map[string]float64) { n["folio_set_processes"] = 0 })},
		{"did not get the setting: folio-agent act refused it (room)", figures(func(set bool, n map[string]float64) {
			n["folio_set_processes"] = 0
			if set {
				n[`folio_set_refused_processes,reason="room"`] = 1
			}
		})},
		{"did not get the setting", figures(func(set bool, n map[string]float64) {
			if set {
				n["folio_set_gogc_percent"] = 100
			}
		})},
		{"still has GOGC=400", figures(func(_ bool, n map[string]float64) { n["folio_set_gogc_percent"] = 400 })},
		{"no figures of pod", func(c *cluster, _ *Canary) {
			figures(func(set bool, n map[string]float64) {
				if set && time.Since(c.begin) > 3*time.Second {
					delete(n, "folio_resident_bytes")
				}
			})(c, nil)
		}},
	} {
		t.Run(of.want, func(t *testing.T) {
			t.Parallel()
			c := h.open(t, fmt.Sprintf("stops-%d", i), 2)
			n := c.canary(source)
			h.mu.Lock()
			of.make(c, n)
			h.mu.Unlock()
			scraped(t, source, n)
			r, err := n.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), of.want) || r == nil || r.State != Stopped || !strings.Contains(err.Error(), r.Reason) {
				t.Errorf("%+v, %v; want %s", r, err, of.want)
			}
			c.clean()
		})
	}
}

// An interrupt takes the setting back; an API server that refuses is not asked again and again.
func TestEnds(t *testing.T) {
	h, source, _ := newHall(t)
	c := h.open(t, "interrupted", 4)
	n := c.canary(source)
	scraped(t, source, n)
	ctx, cancel := context.WithCancel(t.Context())
	go c.whenLeased(cancel)
	if _, err := n.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	c.clean()

	c.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "api", errors.New("no"))
	})
	if _, err := n.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the account needs the right to list and patch pods in namespace interrupted") {
		t.Errorf("%v", err)
	}
}

func TestServerIsAway(t *testing.T) {
	h, source, p := newHall(t)
	c := h.open(t, "away", 2)
	n := c.canary(source)
	scraped(t, source, n)
	patience = time.Second
	defer func() { patience = time.Minute }()
	var stopped sync.WaitGroup
	stopped.Go(func() { c.whenLeased(p.Stop) })
	defer stopped.Wait()
	if _, err := n.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "stopped: for 1s nothing is known of the pods: cannot reach") {
		t.Errorf("%v", err)
	}
	c.clean()
}
