package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/foliomem/folio/cmd/fleet/internal/pod"
)

// A Directory answers which pod a container belongs to. Its methods may be called by many
// goroutines.
type Directory struct {
	node   string
	log    *slog.Logger
	synced atomic.Bool
	run    func(ctx context.Context)

	mu         sync.RWMutex
	pods       map[string]*entry // by UID of the API
	uids       map[string]string // UID that cgroups have, where it is another: of static pods
	containers map[string]string // UID of the pod, by ID of the container
}

type entry struct {
	namespace, name, cgroup string
	workload                pod.Workload
	labels, annotations     map[string]string
	containers              map[string]string // name, by ID
}

// configHash is the annotation with the UID that the kubelet gives a static pod: cgroups
// have that one, the API has its own.
const configHash = "kubernetes.io/config.hash"

// Config finds the API: by a kubeconfig file, else as a pod does.
func Config(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("cannot read the kubeconfig %s: %w", kubeconfig, err)
		}
		return c, nil
	}
	c, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("this is not a pod of Kubernetes, where the API would be known: give --kubeconfig")
	}
	return c, err
}

// InCluster reports whether this is a pod that may ask the API.
func InCluster() bool { return os.Getenv("KUBERNETES_SERVICE_HOST") != "" }

// NewDirectory makes a directory of the pods of a node. Start it with Run.
func NewDirectory(config *rest.Config, node string, log *slog.Logger) (*Directory, error) {
	if node == "" {
		return nil, errors.New("the name of the node is not known: set NODE_NAME from spec.nodeName, or --node")
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &corev1.SchemeGroupVersion, "/api"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.UserAgent = "folio-agent"
	config.AcceptContentTypes, config.ContentType = "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	d := newDirectory(node, log)
	parameters := runtime.NewParameterCodec(scheme)
	own := fields.OneTermEqualSelector("spec.nodeName", node).String()
	request := func(o metav1.ListOptions) *rest.Request {
		o.FieldSelector = own
		return client.Get().Resource("pods").VersionedParams(&o, parameters)
	}
	lw := &cache.ListWatch{}
	lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list := &corev1.PodList{}
		return list, request(o).Do(ctx).Into(list)
	}
	lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.Watch = true
		return request(o).Watch(ctx)
	}
	d.run = func(ctx context.Context) { d.follow(ctx, lw) }
	return d, nil
}

func newDirectory(node string, log *slog.Logger) *Directory {
	return &Directory{
		node: node, log: log,
		pods: make(map[string]*entry), uids: make(map[string]string), containers: make(map[string]string),
	}
}

// Run follows the API until ctx ends. Where it cannot be reached it tries again, less and
// less often.
func (d *Directory) Run(ctx context.Context) { d.run(ctx) }

func (d *Directory) follow(ctx context.Context, lw cache.ListerWatcher) {
	informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
	_ = informer.SetTransform(func(obj any) (any, error) { return slim(obj), nil })
	var said time.Time
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if time.Since(said) > time.Minute { // it is tried again within seconds
			said = time.Now()
			d.log.Warn("cannot follow the pods of this node at the Kubernetes API; what is known stays, new pods have their UID as name", "node", d.node, "err", err)
		}
	})
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    d.put,
		UpdateFunc: func(_, obj any) { d.put(obj) },
		DeleteFunc: d.drop,
	})
	if err != nil {
		d.log.Error("cannot follow pods", "err", err)
		return
	}
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			d.synced.Store(true)
			d.log.Info("pods of this node are known", "node", d.node, "pods", d.Pods())
		}
	}()
	informer.RunWithContext(ctx)
}

// slim keeps of a pod what this package reads: a node can have hundreds, of 10 KiB each.
func slim(obj any) any {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return obj
	}
	out := &corev1.Pod{}
	out.Name, out.Namespace, out.UID, out.ResourceVersion, out.Labels = p.Name, p.Namespace, p.UID, p.ResourceVersion, p.Labels
	if owner := metav1.GetControllerOf(p); owner != nil {
		out.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	out.Annotations = own(p.Annotations)
	keep := func(in []corev1.ContainerStatus) (out []corev1.ContainerStatus) {
		for _, s := range in {
			out = append(out, corev1.ContainerStatus{Name: s.Name, ContainerID: s.ContainerID})
		}
		return out
	}
	out.Status.ContainerStatuses = keep(p.Status.ContainerStatuses)
	out.Status.InitContainerStatuses = keep(p.Status.InitContainerStatuses)
	out.Status.EphemeralContainerStatuses = keep(p.Status.EphemeralContainerStatuses)
	return out
}

func (d *Directory) put(obj any) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	e := &entry{namespace: p.Namespace, name: p.Name, labels: p.Labels, annotations: own(p.Annotations), workload: WorkloadOf(p), cgroup: p.Annotations[configHash], containers: make(map[string]string)}
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses} {
		for _, s := range list {
			if _, id, ok := strings.Cut(s.ContainerID, "://"); ok {
				e.containers[id] = s.Name
			}
		}
	}
	uid := string(p.UID)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(uid)
	d.pods[uid] = e
	if e.cgroup != "" {
		d.uids[e.cgroup] = uid
	}
	for id := range e.containers {
		d.containers[id] = uid
	}
}

func (d *Directory) drop(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if p, ok := obj.(*corev1.Pod); ok {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.remove(string(p.UID))
	}
}

func (d *Directory) remove(uid string) {
	e := d.pods[uid]
	if e == nil {
		return
	}
	delete(d.pods, uid)
	if d.uids[e.cgroup] == uid {
		delete(d.uids, e.cgroup)
	}
	for id := range e.containers {
		if d.containers[id] == uid {
			delete(d.containers, id)
		}
	}
}

// Find returns the name of a container, by the UID of its pod as its cgroup has it, which
// can be empty, and its ID. ok is false until both are known. The name of the container
// stays "" for the pod's own (its sandbox).
func (d *Directory) Find(uid, container string) (n pod.Name, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	e := d.entry(uid, container)
	if e == nil {
		return n, false
	}
	name, ok := e.containers[container]
	return pod.Name{Namespace: e.namespace, Pod: e.name, Container: name}, ok
}

func (d *Directory) entry(uid, container string) *entry {
	if uid == "" {
		uid = d.containers[container]
	}
	if api, static := d.uids[uid]; static {
		uid = api
	}
	return d.pods[uid]
}

// Label returns the value of a label of a pod.
func (d *Directory) Label(uid, container, label string) (value string, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	e := d.entry(uid, container)
	if e == nil {
		return "", false
	}
	value, ok = e.labels[label]
	return value, ok
}

// Annotation returns an annotation of a pod, one of those whose name begins with folio.dev/, or
// "".
func (d *Directory) Annotation(uid, container, name string) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if e := d.entry(uid, container); e != nil {
		return e.annotations[name]
	}
	return ""
}

// own are the annotations that are kept: those of folio, and the UID of a static pod.
func own(all map[string]string) (out map[string]string) {
	for name, v := range all {
		if name != configHash && !strings.HasPrefix(name, "folio.dev/") || len(v) > mostAnnotation {
			continue
		}
		if out == nil {
			out = make(map[string]string)
		}
		out[name] = v
	}
	return out
}

// mostAnnotation bounds what is kept of a pod.
const mostAnnotation = 1 << 10

// Workload returns the workload of a pod, as package rules names it.
func (d *Directory) Workload(uid, container string) (w pod.Workload, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	e := d.entry(uid, container)
	if e == nil {
		return w, false
	}
	return e.workload, true
}

// WorkloadOf goes by the owner of a pod, and of a ReplicaSet by the hash in its name.
func WorkloadOf(p *corev1.Pod) pod.Workload {
	owner := metav1.GetControllerOf(p)
	if owner == nil || owner.Kind == "Node" { // of a static pod
		return pod.Workload{Kind: "Pod", Name: p.Name}
	}
	if owner.Kind == "ReplicaSet" {
		for label, kind := range map[string]string{"pod-template-hash": "Deployment", "rollouts-pod-template-hash": "Rollout"} {
			if name, ok := strings.CutSuffix(owner.Name, "-"+p.Labels[label]); ok && p.Labels[label] != "" {
				return pod.Workload{Kind: kind, Name: name}
			}
		}
	}
	return pod.Workload{Kind: owner.Kind, Name: owner.Name}
}

// Has reports whether a pod is on the node.
func (d *Directory) Has(uid string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.entry(uid, "") != nil
}

// Synced reports whether all pods of the node were listed once.
func (d *Directory) Synced() bool { return d.synced.Load() }

// Pods is how many pods are known.
func (d *Directory) Pods() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.pods)
}
