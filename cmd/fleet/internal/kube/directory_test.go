package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/foliomem/folio/cmd/fleet/internal/pod"
	"github.com/foliomem/folio/internal/test/testenv"
)

// An api is an API server that knows pods. It refuses requests for others than those of
// one node, and for what is not read.
type api struct {
	t      *testing.T
	pods   []corev1.Pod
	events chan string
	wrong  atomic.Int32
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.Method != "GET" || r.URL.Path != "/api/v1/pods" || q.Get("fieldSelector") != "spec.nodeName=node-1" {
		a.wrong.Add(1)
		http.Error(w, "not for this agent", http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case q.Get("sendInitialEvents") == "true":
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`, http.StatusUnprocessableEntity)
	case q.Get("watch") == "true" || q.Get("watch") == "1":
		w.(http.Flusher).Flush()
		for {
			select {
			case event := <-a.events:
				fmt.Fprintln(w, event)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	default:
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: a.pods}
		if err := json.NewEncoder(w).Encode(list); err != nil {
			a.t.Error(err)
		}
	}
}

func podOf(n int, version string, containers ...string) corev1.Pod {
	p := corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}}
	p.Name, p.Namespace, p.UID, p.ResourceVersion = fmt.Sprintf("pod-%d", n), "shop", types.UID(fmt.Sprintf("uid-%d", n)), version
	p.Labels = map[string]string{"folio.dev/collapse": "true"}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: strings.Repeat("x", 1000)}}
	for i, id := range containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: fmt.Sprintf("main-%d", i), ContainerID: "containerd://" + id})
	}
	return p
}

func event(kind string, p corev1.Pod) string {
	text, _ := json.Marshal(map[string]any{"type": kind, "object": p})
	return string(text)
}

func TestDirectory(t *testing.T) {
	static := podOf(2, "1", "c2")
	static.Annotations = map[string]string{configHash: "hash-2", "large": strings.Repeat("y", 1000)}
	a := &api{t: t, pods: []corev1.Pod{podOf(1, "1", "c1"), static}, events: make(chan string)}
	server := httptest.NewServer(a)
	defer server.Close()
	d, err := NewDirectory(&rest.Config{Host: server.URL}, "node-1", slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); d.Run(ctx) }()
	testenv.Eventually(t, "the list of pods", d.Synced)
	if d.Pods() != 2 {
		t.Errorf("%d pods", d.Pods())
	}
	find := func(uid, container string, want pod.Name, known bool) {
		t.Helper()
		if got, ok := d.Find(uid, container); got != want || ok != known {
			t.Errorf("%s, %s: %+v, %v", uid, container, got, ok)
		}
	}
	find("uid-1", "c1", pod.Name{Namespace: "shop", Pod: "pod-1", Container: "main-0"}, true)
	find("", "c1", pod.Name{Namespace: "shop", Pod: "pod-1", Container: "main-0"}, true)
	find("hash-2", "c2", pod.Name{Namespace: "shop", Pod: "pod-2", Container: "main-0"}, true) // a static pod
	find("uid-1", "new", pod.Name{Namespace: "shop", Pod: "pod-1", Container: ""}, false)      // its status comes later
	find("uid-3", "c3", pod.Name{}, false)
	if v, ok := d.Label("hash-2", "c2", "folio.dev/collapse"); v != "true" || !ok {
		t.Error(v, ok)
	}

	a.events <- event("ADDED", podOf(3, "2", "c3"))
	a.events <- event("MODIFIED", podOf(1, "3", "new"))
	testenv.Eventually(t, "the new container", func() bool { _, ok := d.Find("uid-1", "new"); return ok })
	find("uid-3", "c3", pod.Name{Namespace: "shop", Pod: "pod-3", Container: "main-0"}, true)
	find("", "c1", pod.Name{}, false)
	a.events <- event("DELETED", podOf(3, "4", "c3"))
	a.events <- event("DELETED", static)
	testenv.Eventually(t, "the deletion", func() bool { return d.Pods() == 1 })
	if len(d.containers) != 1 || len(d.uids) != 0 || d.Has("uid-3") || !d.Has("uid-1") {
		t.Errorf("what is left: %v %v", d.containers, d.uids)
	}
	stop()
	<-done
	if n := a.wrong.Load(); n != 0 {
		t.Errorf("%d requests for what is not of the node", n)
	}
}

// The workload of a pod is that of the rules, and survives what the cache drops.
func TestWorkload(t *testing.T) {
	d := newDirectory("node-1", nil)
	for i, c := range []struct {
		kind, owner, label, hash string
		want                     pod.Workload
	}{
		{"", "", "", "", pod.Workload{Kind: "Pod", Name: "pod-0"}},
		{"Node", "node-1", "", "", pod.Workload{Kind: "Pod", Name: "pod-1"}},
		{"StatefulSet", "db", "", "", pod.Workload{Kind: "StatefulSet", Name: "db"}},
		{"ReplicaSet", "api-5d4f", "pod-template-hash", "5d4f", pod.Workload{Kind: "Deployment", Name: "api"}},
		{"ReplicaSet", "api-5d4f", "rollouts-pod-template-hash", "5d4f", pod.Workload{Kind: "Rollout", Name: "api"}},
		{"ReplicaSet", "api-5d4f", "pod-template-hash", "6e6e", pod.Workload{Kind: "ReplicaSet", Name: "api-5d4f"}},
		{"ReplicaSet", "api-", "pod-template-hash", "", pod.Workload{Kind: "ReplicaSet", Name: "api-"}},
	} {
		p := podOf(i, "1", "c")
		if c.kind != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "Other", Name: "x"}, {Kind: c.kind, Name: c.owner, Controller: new(true)}}
		}
		if c.label != "" {
			p.Labels[c.label] = c.hash
		}
		d.put(slim(&p))
		if w, ok := d.Workload(string(p.UID), ""); !ok || w != c.want {
			t.Errorf("%+v: %+v, %v", c, w, ok)
		}
	}
	if w, ok := d.Workload("none", ""); ok {
		t.Errorf("%+v", w)
	}
}

// Pods that come and go leave nothing.
func TestDirectoryDoesNotGrow(t *testing.T) {
	d := newDirectory("node-1", nil)
	for i := range 1000 {
		p := podOf(i, "1", fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i))
		p.Annotations = map[string]string{configHash: fmt.Sprintf("hash-%d", i)}
		d.put(&p)
		p = podOf(i, "2", fmt.Sprintf("c%d", i))
		d.put(slim(&p))
		d.drop(&p)
	}
	if len(d.pods)+len(d.uids)+len(d.containers) != 0 {
		t.Errorf("%d pods, %d UIDs, %d containers", len(d.pods), len(d.uids), len(d.containers))
	}
}

func TestNoNode(t *testing.T) {
	if _, err := NewDirectory(&rest.Config{}, "", nil); err == nil || !strings.Contains(err.Error(), "NODE_NAME") {
		t.Error(err)
	}
}
