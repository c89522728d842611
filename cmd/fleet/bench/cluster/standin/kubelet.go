//go:build unix

package standin

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// A Kubelet runs the pods of one node.
type Kubelet struct {
	Client kubernetes.Interface
	Node   string
	// Images are the directories that stand for the root of images. A pod with another
	// image cannot start.
	Images map[string]string
	Dir    string            // for volumes
	Labels map[string]string // of the node
	Env    []string          // of each process, besides what the pod says
	// Every is how often pods are listed, Restart the pause before a container is started
	// again.
	Every, Restart time.Duration

	mu   sync.Mutex
	pods map[types.UID]*running
	lost bool
	wg   sync.WaitGroup
}

// running is a pod.
type running struct {
	pod    *corev1.Pod
	dir    string
	cancel context.CancelFunc
	logs   map[string][]*log // of each container, one of each start
	main   *os.Process       // of the first container, while it runs
	ended  bool
}

// Run runs the pods of the node until ctx ends, and then ends them.
func (k *Kubelet) Run(ctx context.Context) {
	k.mu.Lock()
	if k.pods == nil {
		k.pods = make(map[types.UID]*running)
	}
	k.mu.Unlock()
	ticker := time.NewTicker(k.Every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		k.look(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	k.wg.Wait()
}

// look starts pods that are new, and ends those that are deleted.
func (k *Kubelet) look(ctx context.Context) {
	list, err := k.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + k.Node})
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil || k.lost {
		return
	}
	here := make(map[types.UID]bool)
	for i := range list.Items {
		p := &list.Items[i]
		if p.Spec.NodeName != k.Node {
			continue // the fake knows no field selectors
		}
		here[p.UID] = true
		r := k.pods[p.UID]
		switch {
		case r == nil && p.DeletionTimestamp == nil && (p.Status.Phase == "" || p.Status.Phase == corev1.PodPending):
			k.start(ctx, p.DeepCopy())
		case p.DeletionTimestamp == nil:
		case r != nil && !r.ended:
			r.cancel()
		default:
			now := int64(0)
			_ = k.Client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.UID}})
		}
	}
	for uid, r := range k.pods {
		if !here[uid] {
			r.cancel()
			if r.ended {
				delete(k.pods, uid)
				_ = os.RemoveAll(r.dir)
			}
		}
	}
}

// start runs a pod. k.mu is held.
func (k *Kubelet) start(ctx context.Context, p *corev1.Pod) {
	r := &running{pod: p, dir: filepath.Join(k.Dir, string(p.UID)), logs: make(map[string][]*log)}
	ctx, r.cancel = context.WithCancel(ctx)
	k.pods[p.UID] = r
	k.wg.Go(func() {
		k.run(ctx, r)
		k.mu.Lock()
		r.ended = true
		k.mu.Unlock()
	})
}

// run runs a pod to its end.
func (k *Kubelet) run(ctx context.Context, r *running) {
	s := &corev1.PodStatus{Phase: corev1.PodPending, StartTime: &metav1.Time{Time: time.Now()}, HostIP: "127.0.0.1"}
	fail := func(reason, message string) {
		s.Phase, s.Reason, s.Message = corev1.PodFailed, reason, message
		k.report(ctx, r, s)
	}
	for _, v := range r.pod.Spec.Volumes {
		if err := os.MkdirAll(filepath.Join(r.dir, v.Name), 0o755); err != nil {
			fail("Evicted", err.Error())
			return
		}
	}
	for i := range r.pod.Spec.InitContainers {
		c := &r.pod.Spec.InitContainers[i]
		s.InitContainerStatuses = append(s.InitContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image})
		if !k.container(ctx, r, c, s, &s.InitContainerStatuses[i]) {
			return
		}
	}
	c := &r.pod.Spec.Containers[0]
	s.ContainerStatuses = []corev1.ContainerStatus{{Name: c.Name, Image: c.Image, ImageID: c.Image}}
	if k.container(ctx, r, c, s, &s.ContainerStatuses[0]) {
		s.Phase = corev1.PodSucceeded
		k.report(ctx, r, s)
	}
}

// container runs a container until it succeeds, again and again where it fails. ok is false
// where the pod has ended otherwise.
func (k *Kubelet) container(ctx context.Context, r *running, c *corev1.Container, s *corev1.PodStatus, at *corev1.ContainerStatus) (ok bool) {
	root, known := k.Images[c.Image]
	if !known {
		at.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image: " + c.Image}}
		k.report(ctx, r, s)
		<-ctx.Done()
		return false
	}
	for {
		var code int
		cmd, out, err := k.command(r, c, root)
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			code = 128
			out.Write([]byte(err.Error() + "\n"))
		} else {
			k.mu.Lock()
			r.main = cmd.Process
			k.mu.Unlock()
			s.Phase = corev1.PodRunning
			if len(s.ContainerStatuses) == 0 {
				s.Phase = corev1.PodPending
			}
			at.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
			at.Ready = true
			k.report(ctx, r, s)
			code = wait(ctx, cmd)
		}
		out.close()
		at.Ready = false
		ended := &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: reason(code), FinishedAt: metav1.Now()}
		at.State = corev1.ContainerState{Terminated: ended}
		switch {
		case ctx.Err() != nil:
			s.Phase = corev1.PodFailed
			k.report(context.WithoutCancel(ctx), r, s)
			return false
		case code == 0:
			k.report(ctx, r, s)
			return true
		case r.pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
			s.Phase = corev1.PodFailed
			k.report(ctx, r, s)
			return false
		}
		at.RestartCount++
		at.LastTerminationState = at.State
		at.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off restarting failed container"}}
		k.report(ctx, r, s)
		select {
		case <-ctx.Done():
		case <-time.After(k.Restart):
		}
	}
}

func reason(code int) string {
	switch code {
	case 0:
		return "Completed"
	case 137:
		return "OOMKilled"
	}
	return "Error"
}

// report writes the status of a pod.
func (k *Kubelet) report(ctx context.Context, r *running, s *corev1.PodStatus) {
	k.mu.Lock()
	lost := k.lost
	k.mu.Unlock()
	if lost {
		return
	}
	pods := k.Client.CoreV1().Pods(r.pod.Namespace)
	for range 5 {
		now, err := pods.Get(ctx, r.pod.Name, metav1.GetOptions{})
		if err != nil || now.UID != r.pod.UID {
			return
		}
		conditions := now.Status.Conditions
		now.Status = *s.DeepCopy()
		now.Status.Conditions = conditions
		if _, err = pods.UpdateStatus(ctx, now, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return
		}
	}
}

// Kill ends the first container of a pod as the OOM killer does: all of it, with SIGKILL.
func (k *Kubelet) Kill(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.pods {
		if r.pod.Name == name && !r.ended && r.main != nil {
			return killGroup(r.main.Pid) == nil
		}
	}
	return false
}

// Lose makes the node one that is lost: its processes end, and nothing is heard of it.
func (k *Kubelet) Lose() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lost = true
	for _, r := range k.pods {
		r.cancel()
	}
}

// Logs opens the log of a container, of its last start.
func (k *Kubelet) Logs(ctx context.Context, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.pods {
		if logs := r.logs[o.Container]; r.pod.Name == pod && len(logs) > 0 && !k.lost {
			n := len(logs) - 1
			if o.Previous {
				n--
			}
			if n >= 0 {
				return logs[n].open(ctx, o.Follow), nil
			}
		}
	}
	return nil, fmt.Errorf("no log of container %s of pod %s on node %s", o.Container, pod, k.Node)
}

// paths says where files of a container are on this machine.
func (k *Kubelet) paths(r *running, c *corev1.Container, root string) func(string) string {
	return func(word string) string {
		for _, m := range c.VolumeMounts {
			if rest, ok := strings.CutPrefix(word, m.MountPath); ok && (rest == "" || rest[0] == '/') {
				return filepath.Join(r.dir, m.Name) + rest
			}
		}
		if strings.HasPrefix(word, "/") && root != "" {
			if in := filepath.Join(root, word); exists(in) {
				return in
			}
		}
		return word
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
