package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/foliomem/folio/cmd/fleet/internal/ranking"
	"github.com/foliomem/folio/cmd/fleet/internal/recommend"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/cgrouptest"
	"github.com/foliomem/folio/internal/test/testenv"
)

// actPod is a pod of a Deployment, with a value of the label folio.dev/settings.
func actPod(n int, value string) *corev1.Pod {
	p := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}}
	p.Name, p.Namespace, p.UID = fmt.Sprintf("api-5d4f-%d", n), "shop", types.UID(fmt.Sprintf("0f1e2d3c-4b5a-6978-8796-%012x", n))
	p.Spec.Containers = []corev1.Container{{Name: "main"}}
	p.Status.Phase, p.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	p.Labels = map[string]string{"folio.dev/settings": value, "pod-template-hash": "5d4f"}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "api-5d4f", Controller: new(true)}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: fmt.Sprintf("containerd://%064x", n)}}
	return p
}

// A podsAPI serves the pods of a node: lists, watches and patches of them.
type podsAPI struct {
	kubeconfig string

	mu       sync.Mutex
	pods     map[string]*corev1.Pod
	version  int
	watchers map[chan *corev1.Pod]bool
}

func newPodsAPI(t *testing.T, pods ...*corev1.Pod) *podsAPI {
	t.Helper()
	a := &podsAPI{pods: make(map[string]*corev1.Pod), watchers: make(map[chan *corev1.Pod]bool)}
	for _, p := range pods {
		a.put(p)
	}
	server := httptest.NewServer(a)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	a.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server.URL)
	if err := os.WriteFile(a.kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// put adds or replaces a pod.
func (a *podsAPI) put(p *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	p.ResourceVersion = strconv.Itoa(a.version)
	a.pods[p.Name] = p
	for w := range a.watchers {
		w <- p.DeepCopy()
	}
}

func (a *podsAPI) list() (items []corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.pods {
		items = append(items, *p.DeepCopy())
	}
	return items
}

func (a *podsAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodPatch:
		a.patch(w, r)
	case q.Get("sendInitialEvents") == "true":
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`, http.StatusUnprocessableEntity)
	case q.Get("watch") == "true" || q.Get("watch") == "1":
		a.watch(w, r)
	default:
		a.mu.Lock()
		version := strconv.Itoa(a.version)
		a.mu.Unlock()
		_ = json.NewEncoder(w).Encode(corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: version}, Items: a.list()})
	}
}

// watch also says what was changed since the version that is asked from.
func (a *podsAPI) watch(w http.ResponseWriter, r *http.Request) {
	events := make(chan *corev1.Pod, 1000)
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	a.mu.Lock()
	a.watchers[events] = true
	for _, p := range a.pods {
		if v, _ := strconv.Atoi(p.ResourceVersion); v > since {
			events <- p.DeepCopy()
		}
	}
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.watchers, events)
	}()
	w.(http.Flusher).Flush()
	for {
		select {
		case p := <-events:
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": p})
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// patch merges annotations.
func (a *podsAPI) patch(w http.ResponseWriter, r *http.Request) {
	var change struct {
		Metadata struct {
			UID         types.UID
			Annotations map[string]*string
		}
	}
	a.mu.Lock()
	p := a.pods[path.Base(r.URL.Path)]
	a.mu.Unlock()
	if err := json.NewDecoder(r.Body).Decode(&change); err != nil || p == nil || p.UID != change.Metadata.UID {
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, http.StatusNotFound)
		return
	}
	p = p.DeepCopy()
	for name, v := range change.Metadata.Annotations {
		if v == nil {
			delete(p.Annotations, name)
			continue
		}
		if p.Annotations == nil {
			p.Annotations = make(map[string]string)
		}
		p.Annotations[name] = *v
	}
	a.put(p)
	_ = json.NewEncoder(w).Encode(p)
}

// containerOf puts a process into a cgroup that is named as that of the container of a pod. It
// returns what sets its memory limit.
func containerOf(t *testing.T, pid int, p *corev1.Pod, limit uint64) (resize func(bytes uint64)) {
	t.Helper()
	fs := procmem.New("")
	if err := cgrouptest.WithMemory(t, 4<<30).Join(pid); err != nil {
		t.Fatal(err)
	}
	groups, err := fs.MemoryGroups(pid)
	if err != nil || len(groups) == 0 {
		t.Fatal(groups, err)
	}
	write := func(file, text string) error { return os.WriteFile(file, []byte(text), 0o644) }
	dir, file := fs.GroupDir(groups[0]), "memory.limit_in_bytes"
	unified := false
	if _, err := os.Stat(filepath.Join(dir, "memory.max")); err == nil {
		unified, file = true, "memory.max"
	}
	top := dir
	for _, name := range []string{"pod" + string(p.UID), strings.TrimPrefix(p.Status.ContainerStatuses[0].ContainerID, "containerd://")} {
		dir = filepath.Join(dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
		t.Fatal(err)
	}
	if unified { // of groups that have no process themselves
		for _, above := range []string{top, filepath.Dir(dir)} {
			if err := write(filepath.Join(above, "cgroup.subtree_control"), "+memory"); err != nil {
				testenv.Missing(t, "cgroups below %s: %v", above, err)
			}
		}
	}
	resize = func(bytes uint64) {
		t.Helper()
		if err := write(filepath.Join(dir, file), strconv.FormatUint(bytes, 10)); err != nil {
			t.Fatal(err)
		}
	}
	resize(limit)
	return resize
}

// The command as it runs on a node: the pods are those of an API server, the container is a
// cgroup of the kernel, whose limit is changed as the kubelet does for a resize in place.
func TestActSettings(t *testing.T) {
	testenv.Long(t)
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	load := testenv.Role(t, "load")
	in, out := testenv.Start(t, load)
	defer func() { in.Close(); _ = load.Wait() }()
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	pid := load.Process.Pid
	resize := containerOf(t, pid, actPod(1, "on"), 512<<20)
	api := newPodsAPI(t, actPod(1, "on"))
	dir := t.TempDir()
	policy, advice := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "api.json")
	a := recommend.Advice{To: time.Now(), Confidence: recommend.High, Advised: recommend.Setting{GOGC: "250"}}
	text, err := json.Marshal(struct { // as folio-fleet recommend --json prints it
		Workload ranking.ID `json:"workload"`
		*recommend.Advice
	}{ranking.ID{Namespace: "shop", Workload: "api", Kind: "Deployment", Container: "main"}, &a})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{policy: []byte("settings: [{label: folio.dev/settings=on, gogc: recommended, memoryLimit: fit}]\n"), advice: text} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"act", "--policy", policy, "--kubernetes", "on", "--kubeconfig", api.kubeconfig, "--node", "node-1", "--listen", "127.0.0.1:0"}
	if code, _, text := program.Run(args); code != 2 || !strings.Contains(text, "--recommendations is missing") {
		t.Errorf("%d\n%s", code, text)
	}
	args = append(args, "--recommendations", dir)
	var agent *running
	has := func() (gogc string, limit int64) {
		t.Helper()
		p, err := livegc.Open(procmem.New(""), pid)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		s, err := p.State()
		if err != nil {
			t.Fatal(err)
		}
		return livegc.GOGC(s.Percent), s.Limit
	}
	until := func(what, gogc string, least, most int64) (took time.Duration) {
		t.Helper()
		begun := time.Now()
		testenv.Eventually(t, what, func() bool {
			g, l := has()
			return g == gogc && l >= least && l <= most
		})
		return time.Since(begun)
	}
	const none, mib = 1<<63 - 1, 1 << 20
	agent = start(t, 1, args...)
	until("set", "250", 300*mib, 486*mib)
	for _, want := range []string{
		`folio_set_processes{container="main",namespace="shop",node="node-1",pod="api-5d4f-1"} 1`,
		`folio_set_gogc_percent{container="main",namespace="shop",node="node-1",pod="api-5d4f-1"} 250`,
		`folio_set_gomemlimit_bytes{container="main",namespace="shop",node="node-1",pod="api-5d4f-1"} `,
		`folio_set_changes_total{change="set",node="node-1"} 1`,
		`folio_set_refusals_total{node="node-1",reason="program"} 0`,
	} {
		testenv.Eventually(t, want, func() bool {
			_, text := get(t, http.DefaultClient, "http://"+agent.addr[0]+"/metrics", "")
			return strings.Contains(text, want)
		})
	}
	resize(256 << 20)
	t.Logf("a smaller container: GOMEMLIMIT moved after %v", until("a smaller container", "250", 100*mib, 243*mib))
	resize(1 << 30)
	t.Logf("a larger container: GOMEMLIMIT moved after %v", until("a larger container", "250", 700*mib, 973*mib))
	api.put(actPod(1, "off"))
	until("opted out", "100", none, none)
	api.put(actPod(1, "on"))
	until("opted in again", "250", 700*mib, 973*mib)
	_ = agent.cmd.Process.Kill()
	_ = agent.cmd.Wait()
	until("killed", "100", none, none)
	agent = start(t, 1, args...)
	until("the next agent", "250", 700*mib, 973*mib)
	if err := agent.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := agent.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, agent.text())
	}
	if g, l := has(); g != "100" || l != none {
		t.Errorf("after TERM: GOGC=%s, GOMEMLIMIT=%d", g, l)
	}
}
