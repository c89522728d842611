//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/foliomem/folio/cmd/fleet/bench/cluster/standin"
	"github.com/foliomem/folio/cmd/fleet/internal/tunejob"
)

// garbage is a program that the GC has much to do in: it keeps 16 MiB and allocates.
const garbage = `package main

var live [256][]*[16]byte

func main() {
	for i := range 4 * len(live) {
		s := make([]*[16]byte, 4096)
		for j := range s {
			s[j] = new([16]byte)
		}
		live[i%len(live)] = s
	}
}
`

const tuneJob = `apiVersion: batch/v1
kind: Job
metadata: {name: garbage}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {folio.example/standin: "yes"}
      containers:
        - name: main
          image: registry.example/garbage:v1
          command: [/garbage]
`

// tune runs folio-fleet tune as a user with the rights of deploy/tune does, on four nodes,
// one of which is lost.
func (c *cluster) tune(ctx context.Context) error {
	if _, err := c.kubectl(ctx, "apply", "-k", filepath.Join(c.options.deploy, "tune")); err != nil {
		return err
	}
	token, err := c.kubectl(ctx, "create", "token", "folio-tune", "-n", "folio-tune")
	if err != nil {
		return err
	}
	user := c.file("kubeconfig-tune")
	if err := writeKubeconfig(user, c.config.Host, strings.TrimSpace(token)); err != nil {
		return err
	}
	program, err := c.garbage(ctx)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	kubelets := make(map[string]*standin.Kubelet)
	for i := range 4 {
		name := fmt.Sprintf("standin-%d", i+1)
		k := &standin.Kubelet{
			Client: c.client, Node: name, Dir: c.file(name), Labels: map[string]string{"folio.example/standin": "yes"},
			Images: map[string]string{"registry.example/folio-agent:v1": c.bin, "registry.example/garbage:v1": program},
			Every:  500 * time.Millisecond, Restart: time.Second,
		}
		if err := k.Serve(ctx); err != nil {
			return err
		}
		kubelets[name] = k
		wg.Go(func() { k.Run(ctx) })
	}
	job := c.file("job.yaml")
	if err := os.WriteFile(job, []byte(tuneJob), 0o644); err != nil {
		return err
	}
	out := c.file("tune.json")
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "folio-fleet"), "tune", "--kubeconfig", user, "--folio-image", "registry.example/folio-agent:v1",
		"--rounds", "8", "--setting", "GOGC=400", "--setting", "GOGC=50", "--setting", "GOGC=400 thp=heap", "--json", out, job)
	cmd.Stderr = os.Stderr
	lost := make(chan error, 1)
	go func() { lost <- c.loseOne(ctx, kubelets) }()
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("folio-fleet tune: %w: %s", err, text)
	}
	if err := <-lost; err != nil {
		return err
	}
	fmt.Print(string(text))
	if err := checkTune(out); err != nil {
		return err
	}
	return c.await(ctx, time.Minute, "the Job and its pods are gone", func() (bool, error) {
		jobs, err := c.client.BatchV1().Jobs("folio-tune").List(ctx, metav1.ListOptions{})
		pods, err2 := c.client.CoreV1().Pods("folio-tune").List(ctx, metav1.ListOptions{})
		if err != nil || err2 != nil {
			return false, errors.Join(err, err2)
		}
		return len(jobs.Items)+len(pods.Items) == 0, nil
	})
}

// garbage builds the program.
func (c *cluster) garbage(ctx context.Context) (string, error) {
	dir := c.file("garbage")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	err := errors.Join(os.WriteFile(filepath.Join(dir, "main.go"), []byte(garbage), 0o644),
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module garbage\n\ngo 1.26\n"), 0o644))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", "garbage", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return dir, nil
}

// loseOne loses the node of the first pod that runs, with its object, a few seconds after.
func (c *cluster) loseOne(ctx context.Context, kubelets map[string]*standin.Kubelet) error {
	node := ""
	if err := c.await(ctx, 2*time.Minute, "a pod of the trial runs", func() (bool, error) {
		pods, err := c.client.CoreV1().Pods("folio-tune").List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err != nil {
			return false, err
		}
		if len(pods.Items) > 0 {
			node = pods.Items[0].Spec.NodeName
		}
		return node != "", nil
	}); err != nil {
		return err
	}
	time.Sleep(3 * time.Second)
	kubelets[node].Lose()
	c.say("node %s is lost", node)
	return c.client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{})
}

// checkTune checks what does not depend on the machine: three nodes have all rounds, what is
// lost is said, and there is an answer.
func checkTune(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var r struct {
		Complete bool
		*tunejob.Result
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	full, lost := 0, 0
	for _, n := range r.Nodes {
		if len(n.Rounds) >= 8 {
			full++
		}
		lost += len(n.Lost)
	}
	if !r.Complete || full < 3 || lost != 1 || r.State == tunejob.TooFewNodes {
		return fmt.Errorf("complete %v, %d nodes with all rounds, %d rounds lost, %s", r.Complete, full, lost, r.State)
	}
	return nil
}
