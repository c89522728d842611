package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/foliomem/folio/cmd/fleet/bench/cluster/standin"
	"github.com/foliomem/folio/internal/test/testenv"
)

const imageDriver, imageProgram = "mine/folio-agent:v1", "mine/program:v1"

// A cluster is client-go's fake with stand-ins of kubelets, a scheduler and the controller
// of Jobs, as far as a trial needs them.
type cluster struct {
	t        *testing.T
	client   *fake.Clientset
	kubelets map[string]*standin.Kubelet

	mu   sync.Mutex
	made int
	down map[string]bool // nodes that are lost
	pods []string        // every pod that was made
}

func newCluster(t *testing.T, driver, program string, nodes ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, client: fake.NewClientset(), kubelets: make(map[string]*standin.Kubelet), down: make(map[string]bool)}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, n := range nodes {
		k := &standin.Kubelet{
			Client: c.client, Node: n, Dir: t.TempDir(), Images: map[string]string{imageDriver: driver, imageProgram: program},
			Env: []string{testenv.RoleEnv + "=folio-fleet", "GORACE=atexit_sleep_ms=0"}, Every: 10 * time.Millisecond, Restart: time.Millisecond,
		}
		c.kubelets[n] = k
		wg.Go(func() { k.Run(ctx) })
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			c.control(ctx)
			time.Sleep(10 * time.Millisecond)
		}
	})
	t.Cleanup(func() { stop(); wg.Wait() })
	return c
}

// control makes the pods that a Job lacks, on nodes that have none of it, and says when it
// is complete.
func (c *cluster) control(ctx context.Context) {
	jobs, err := c.client.BatchV1().Jobs("").List(ctx, metav1.ListOptions{})
	pods, err2 := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil || err2 != nil {
		return
	}
	named := make(map[string]*batchv1.Job)
	for i := range jobs.Items {
		named[jobs.Items[i].Name] = &jobs.Items[i]
	}
	busy := make(map[string]bool)
	has := make(map[string]bool) // indexes that have a pod, or are done
	done := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		if named[p.Labels["folio.dev/tune"]] == nil {
			_ = c.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{})
			continue
		}
		switch p.Status.Phase {
		case corev1.PodFailed:
			continue
		case corev1.PodSucceeded:
			done++
		default:
			busy[p.Spec.NodeName] = true
		}
		has[p.Labels["index"]] = true
	}
	for _, job := range named {
		for i := range int(*job.Spec.Completions) {
			index := strconv.Itoa(i)
			if node := c.free(busy); !has[index] && node != "" {
				busy[node] = true
				c.make(ctx, job, index, node)
			}
		}
		if done == int(*job.Spec.Completions) && len(job.Status.Conditions) == 0 {
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
			_, _ = c.client.BatchV1().Jobs(job.Namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{})
		}
	}
}

// free is a node that has no pod of the Job.
func (c *cluster) free(busy map[string]bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for n := range c.kubelets {
		if !busy[n] && !c.down[n] {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}

func (c *cluster) make(ctx context.Context, job *batchv1.Job, index, node string) {
	c.mu.Lock()
	c.made++
	p := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: *job.Spec.Template.Spec.DeepCopy()}
	p.Name, p.Namespace, p.UID = fmt.Sprintf("%s-%s-%d", job.Name, index, c.made), job.Namespace, types.UID(fmt.Sprintf("uid-%d", c.made))
	c.pods = append(c.pods, p.Name)
	c.mu.Unlock()
	p.Labels["index"] = index
	p.Spec.NodeName = node
	if _, err := c.client.CoreV1().Pods(job.Namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
		c.t.Error(err)
	}
}

// log opens the log of a pod on whatever node it is.
func (c *cluster) log(ctx context.Context, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	var err error
	for _, k := range c.kubelets {
		var r io.ReadCloser
		if r, err = k.Logs(ctx, pod, o); err == nil {
			return r, nil
		}
	}
	return nil, err
}

// lose makes a node one that went away, and with it the objects of its pods.
func (c *cluster) lose(node string) {
	c.mu.Lock()
	c.down[node] = true
	c.mu.Unlock()
	c.kubelets[node].Lose()
	pods, err := c.client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		c.t.Error(err)
		return
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName == node {
			_ = c.client.CoreV1().Pods(p.Namespace).Delete(context.Background(), p.Name, metav1.DeleteOptions{})
		}
	}
}

// count is how many objects are left.
func (c *cluster) count() (jobs, pods int) {
	j, err := c.client.BatchV1().Jobs("").List(context.Background(), metav1.ListOptions{})
	p, err2 := c.client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
	if err != nil || err2 != nil {
		c.t.Fatal(err, err2)
	}
	return len(j.Items), len(p.Items)
}

// A gate holds the programs of a trial in a round of theirs until it is opened, and at the
// latest until the test ends.
type gate struct{ shut string }

// roundsBeforeGate are those that a node runs before its program waits at a gate: of three
// runs each, behind a warm-up.
const roundsBeforeGate = 2

func newGate(t *testing.T) gate {
	t.Helper()
	g := gate{filepath.Join(t.TempDir(), "shut")}
	if err := os.WriteFile(g.shut, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return g
}

// counted counts the runs of a program on its node.
const counted = `
echo >>"$HOME/runs"
n=$(wc -l <"$HOME/runs")
`

// script makes a program that is counted wait at the gate.
func (g gate) script() string {
	return fmt.Sprintf("[ $n -le %d ] || while [ -e '%s' ]; do sleep 0.01; done", 1+3*roundsBeforeGate, g.shut)
}

func (g gate) open() { _ = os.Remove(g.shut) }

// atGate is on how many nodes a program has come to a gate.
func (c *cluster) atGate() (n int) {
	for _, k := range c.kubelets {
		files, _ := filepath.Glob(filepath.Join(k.Dir, "*", "runs"))
		for _, f := range files {
			if i, err := os.Stat(f); err == nil && i.Size() > 1+3*roundsBeforeGate {
				n++
			}
		}
	}
	return n
}
