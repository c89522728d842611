//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/foliomem/folio/internal/system/procmem"
)

// each calls f for each number below n, several at a time.
func each(ctx context.Context, n int, f func(i int) error) error {
	const workers = 16
	var wg sync.WaitGroup
	next := make(chan int)
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			for i := range next {
				if err := f(i); err != nil && errs[w] == nil {
					errs[w] = fmt.Errorf("%d: %w", i, err)
				}
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// podOf is a pod of the size that those of services have: some variables and labels.
func podOf(node string, i int) *corev1.Pod {
	p := &corev1.Pod{}
	p.Name, p.Namespace = fmt.Sprintf("pod-%05d", i), "default"
	p.Labels = map[string]string{"app.kubernetes.io/name": "service-" + strconv.Itoa(i%200), "app.kubernetes.io/part-of": "shop", "pod-template-hash": strconv.Itoa(i)}
	p.Spec.NodeName = node
	container := corev1.Container{Name: "main", Image: "registry.example/service:v1"}
	for j := range 20 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", j), Value: strings.Repeat("value ", 10)})
	}
	p.Spec.Containers = []corev1.Container{container, {Name: "proxy", Image: "registry.example/proxy:v1"}}
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return p
}

// pods fills the cluster, and looks at what the agent of one node keeps.
func (c *cluster) pods(ctx context.Context) error {
	begun := time.Now()
	if err := c.kwokNodes(ctx, "node", c.nodes); err != nil {
		return err
	}
	c.say("%d nodes (%.0f s)", c.nodes, time.Since(begun).Seconds())
	// The agent first, of a node without pods: its memory is what is compared with.
	a, err := c.agent(ctx, "node-0007")
	if err != nil {
		return err
	}
	defer a.end()
	before, err := a.look(ctx)
	if err != nil {
		return err
	}
	begun = time.Now()
	if err := each(ctx, c.options.pods, func(i int) error {
		_, err := c.client.CoreV1().Pods("default").Create(ctx, podOf(fmt.Sprintf("node-%04d", i%c.nodes), i), metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	c.say("%d pods created (%.0f s)", c.options.pods, time.Since(begun).Seconds())
	own := 0
	for i := range c.options.pods {
		if i%c.nodes == 7 {
			own++
		}
	}
	if err := c.await(ctx, 10*time.Minute, "all pods run", func() (bool, error) {
		list, err := c.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{FieldSelector: "status.phase!=Running", Limit: 1, ResourceVersion: "0"})
		if err != nil {
			return false, err
		}
		time.Sleep(2 * time.Second)
		return len(list.Items) == 0, c.alive()
	}); err != nil {
		return err
	}
	c.say("all of them run (%.0f s)", time.Since(begun).Seconds())
	after, err := a.until(ctx, own)
	if err != nil {
		return err
	}
	c.say("agent of a node with %d of %d pods: knows %d; RSS %.1f MiB, %.1f MiB before; %.2f s CPU since", own, c.options.pods, after.pods, after.mib, before.mib, after.cpu-before.cpu)
	// One that starts now reads its own node's pods, not all.
	b, err := c.agent(ctx, "node-0008")
	if err != nil {
		return err
	}
	defer b.end()
	fresh, err := b.until(ctx, own)
	if err != nil {
		return err
	}
	c.say("an agent that starts now: knows %d pods; RSS %.1f MiB", fresh.pods, fresh.mib)
	// Pods of other nodes come and go; the agent hears nothing of them.
	churn := min(2000, c.options.pods/2)
	if err := each(ctx, churn, func(i int) error {
		if i%c.nodes == 7 || i%c.nodes == 8 {
			return nil
		}
		now := int64(0)
		return c.client.CoreV1().Pods("default").Delete(ctx, fmt.Sprintf("pod-%05d", i), metav1.DeleteOptions{GracePeriodSeconds: &now})
	}); err != nil {
		return err
	}
	last, err := b.look(ctx)
	if err != nil {
		return err
	}
	c.say("after %d pods of other nodes were deleted: knows %d; RSS %.1f MiB; %.2f s CPU since", churn, last.pods, last.mib, last.cpu-fresh.cpu)
	if last.pods != own {
		return fmt.Errorf("the agent knows %d pods, want %d", last.pods, own)
	}
	// One node with as many as a node may have.
	const dense = 250
	if err := each(ctx, dense-own, func(i int) error {
		_, err := c.client.CoreV1().Pods("default").Create(ctx, podOf("node-0008", c.options.pods+i), metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	full, err := b.until(ctx, dense)
	if err != nil {
		return err
	}
	c.say("with %d pods on its node: RSS %.1f MiB", full.pods, full.mib)
	// The budget of memory, at every moment. They look at all Go processes of this machine,
	// the control plane among them.
	most := 64 + .25*float64(runtime.NumCPU())
	for _, one := range []*runningAgent{a, b} {
		peak, err := one.peak()
		if err != nil {
			return err
		}
		now, err := one.look(ctx)
		if err != nil {
			return err
		}
		ran := time.Since(one.began).Seconds()
		c.say("agent that ran for %.0f s: at most %.1f MiB, %.2f s of CPU time (%.2f%% of a core)", ran, peak, now.cpu, 100*now.cpu/ran)
		if peak > most {
			return fmt.Errorf("the agent took %.1f MiB, more than %.1f MiB", peak, most)
		}
	}
	return nil
}

// A runningAgent is folio-agent for a node of the cluster, on this machine.
type runningAgent struct {
	cmd   *exec.Cmd
	url   string
	began time.Time
}

// peak is the most memory that it had, in MiB.
func (a *runningAgent) peak() (float64, error) {
	status, err := procmem.New("").Status(a.cmd.Process.Pid)
	if err != nil || status.VmHWM == nil {
		return 0, errors.Join(errors.New("the agent has ended"), err)
	}
	return float64(*status.VmHWM) / (1 << 20), nil
}

func (c *cluster) agent(ctx context.Context, node string) (*runningAgent, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	address := "127.0.0.1:" + ports[0]
	a := &runningAgent{began: time.Now(), url: "http://" + address + "/metrics", cmd: exec.Command(filepath.Join(c.bin, "folio-agent"), "serve", "--listen", address, "--kubernetes", "on", "--kubeconfig", c.kubeconfig(), "--node", node)}
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	return a, c.await(ctx, time.Minute, "the agent", func() (bool, error) {
		o, err := a.look(ctx)
		return err == nil && o.synced, nil
	})
}

func (a *runningAgent) end() {
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait()
}

// own is what the agent says of itself.
type own struct {
	pods     int
	mib, cpu float64
	synced   bool
}

var metric = regexp.MustCompile(`(?m)^(folio_agent_[a-z_]+)\{[^}]*\} (\S+)$`)

func (a *runningAgent) look(ctx context.Context) (o own, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url, nil)
	if err != nil {
		return o, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return o, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return o, err
	}
	for _, m := range metric.FindAllSubmatch(text, -1) {
		v, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return o, err
		}
		switch string(m[1]) {
		case "folio_agent_pods":
			o.pods = int(v)
		case "folio_agent_resident_bytes":
			o.mib = v / (1 << 20)
		case "folio_agent_cpu_seconds_total":
			o.cpu = v
		case "folio_agent_kubernetes_synced":
			o.synced = v == 1
		}
	}
	return o, nil
}

// until waits until the agent knows so many pods.
func (a *runningAgent) until(ctx context.Context, pods int) (o own, err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		if o, err = a.look(ctx); err == nil && o.pods == pods {
			return o, nil
		}
	}
	return o, errors.Join(fmt.Errorf("the agent knows %d pods, want %d", o.pods, pods), err, ctx.Err())
}
