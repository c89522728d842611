package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

const (
	actUID       = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	actContainer = "feedfacefeedfacefeedfacefeedfacefeedfacefeedfacefeedfacefeedface"
)

// actPod is a pod of a Deployment, with a value of the label folio.dev/settings.
func actPod(version int, value string) *corev1.Pod {
	p := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}}
	p.Name, p.Namespace, p.UID, p.ResourceVersion = "api-5d4f-x", "shop", types.UID(actUID), strconv.Itoa(version)
	p.Labels = map[string]string{"folio.dev/settings": value, "pod-template-hash": "5d4f"}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "api-5d4f", Controller: new(true)}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: "containerd://" + actContainer}}
	return p
}

// podsAPI serves the pods of a node: one, and then what comes from events.
func podsAPI(t *testing.T, first *corev1.Pod, events <-chan *corev1.Pod) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		q := r.URL.Query()
		switch {
		case q.Get("sendInitialEvents") == "true":
			http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`, http.StatusUnprocessableEntity)
		case q.Get("watch") == "true" || q.Get("watch") == "1":
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
		default:
			list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{*first}}
			_ = json.NewEncoder(w).Encode(list)
		}
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// containerOf puts a process into a cgroup that is named as that of a container of a pod. It
// returns what sets its memory limit.
func containerOf(t *testing.T, pid int, limit uint64) (resize func(bytes uint64)) {
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
	for _, name := range []string{"pod" + actUID, actContainer} {
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
	resize := containerOf(t, pid, 512<<20)
	events := make(chan *corev1.Pod)
	kubeconfig := podsAPI(t, actPod(1, "on"), events)
	dir := t.TempDir()
	policy, advice := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "api.json")
	a := recommend.Advice{To: time.Now(), Sure: recommend.High, Advised: recommend.Setting{GOGC: "250"}}
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
	args := []string{"act", "--policy", policy, "--kubernetes", "on", "--kubeconfig", kubeconfig, "--node", "node-1", "--listen", "127.0.0.1:0"}
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
		`folio_set_processes{container="main",namespace="shop",node="node-1",pod="api-5d4f-x"} 1`,
		`folio_set_gogc_percent{container="main",namespace="shop",node="node-1",pod="api-5d4f-x"} 250`,
		`folio_set_gomemlimit_bytes{container="main",namespace="shop",node="node-1",pod="api-5d4f-x"} `,
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
	events <- actPod(2, "off")
	until("opted out", "100", none, none)
	events <- actPod(3, "on")
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
