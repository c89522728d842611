//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	kwokAnnotation = "kwok.x-k8s.io/node"
	deployNodes    = 10
)

// kwokNodes makes nodes of kwok, which takes pods and says that they run.
func (c *cluster) kwokNodes(ctx context.Context, prefix string, n int) error {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("250")}
	return each(ctx, n, func(i int) error {
		node := &corev1.Node{}
		node.Name = fmt.Sprintf("%s-%04d", prefix, i)
		node.Labels = map[string]string{corev1.LabelHostname: node.Name, corev1.LabelOSStable: "linux", "type": "kwok"}
		node.Annotations = map[string]string{kwokAnnotation: "fake"}
		node.Spec.Taints = []corev1.Taint{{Key: kwokAnnotation, Value: "fake", Effect: corev1.TaintEffectNoSchedule}}
		node.Status = corev1.NodeStatus{Capacity: list, Allocatable: list}
		_, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	})
}

// overlay writes the kustomization of a user.
func (c *cluster) overlay(tag string, components ...string) (string, error) {
	dir, err := os.MkdirTemp(c.dir, "overlay-")
	if err != nil {
		return "", err
	}
	deploy, err := filepath.Abs(c.options.deploy)
	if err != nil {
		return "", err
	}
	relative, err := filepath.Rel(dir, deploy)
	if err != nil {
		return "", err
	}
	text := "resources: [" + relative + "/base]\n"
	for i, name := range components {
		if i == 0 {
			text += "components:\n"
		}
		text += "  - " + relative + "/components/" + name + "\n"
	}
	text += "images: [{name: registry.example/folio-agent, newName: registry.example/mine, newTag: " + tag + "}]\n"
	return dir, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644)
}

// deploy installs, upgrades and removes the agent as the documentation says.
func (c *cluster) deploy(ctx context.Context) error {
	if err := c.kwokNodes(ctx, "deploy", deployNodes); err != nil {
		return err
	}
	v1, err := c.overlay("v1")
	if err != nil {
		return err
	}
	out, err := c.kubectl(ctx, "apply", "-k", v1)
	if err != nil {
		return err
	}
	if strings.Contains(strings.ToLower(out), "warning") {
		return fmt.Errorf("kubectl warns: %s", out)
	}
	if err := c.rolledOut(ctx, "v1", "agent"); err != nil {
		return err
	}
	c.say("installed: %d pods run", deployNodes)
	if err := c.rights(ctx); err != nil {
		return err
	}
	v2, err := c.overlay("v2", "profiles", "act")
	if err != nil {
		return err
	}
	if _, err := c.kubectl(ctx, "apply", "-k", v2); err != nil {
		return err
	}
	if err := c.rolledOut(ctx, "v2", "agent", "act"); err != nil {
		return err
	}
	c.say("upgraded, with both components: %d pods run", deployNodes)
	if _, err := c.kubectl(ctx, "delete", "-k", v2, "--wait=true", "--timeout=120s"); err != nil {
		return err
	}
	if err := c.await(ctx, time.Minute, "the namespace folio is gone", func() (bool, error) {
		_, err := c.client.CoreV1().Namespaces().Get(ctx, "folio", metav1.GetOptions{})
		return apierrors.IsNotFound(err), c.alive()
	}); err != nil {
		return err
	}
	left, err := c.kubectl(ctx, "get", "clusterroles,clusterrolebindings", "-o", "name")
	if err != nil {
		return err
	}
	if strings.Contains(left, "folio") {
		return fmt.Errorf("left after uninstalling: %s", left)
	}
	c.say("removed: no namespace, no cluster role, no binding is left")
	return nil
}

// rolledOut waits until every node has a ready pod of an image, and of no other.
func (c *cluster) rolledOut(ctx context.Context, tag string, containers ...string) error {
	return c.await(ctx, 3*time.Minute, "pods of "+tag, func() (bool, error) {
		set, err := c.client.AppsV1().DaemonSets("folio").Get(ctx, "folio-agent", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		s := set.Status
		if s.ObservedGeneration != set.Generation || s.UpdatedNumberScheduled < deployNodes || s.NumberReady < deployNodes {
			return false, c.alive()
		}
		pods, err := c.client.CoreV1().Pods("folio").List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=folio-agent"})
		if err != nil || len(pods.Items) != deployNodes {
			return false, err
		}
		for _, p := range pods.Items {
			var names []string
			for _, container := range p.Spec.Containers {
				names = append(names, container.Name)
				if container.Image != "registry.example/mine:"+tag {
					return false, nil
				}
			}
			if !slices.Equal(names, containers) {
				return false, fmt.Errorf("containers %v", names)
			}
		}
		return true, nil
	})
}

// rights asks the API server what the account of the agent may do.
func (c *cluster) rights(ctx context.Context) error {
	may := func(want string, args ...string) error {
		out, err := c.kubectl(ctx, append([]string{"auth", "can-i", "--as=system:serviceaccount:folio:folio-agent", "--all-namespaces"}, args...)...)
		if got := strings.TrimSpace(out); got != want {
			return fmt.Errorf("may the agent %s: %q, want %s (%v)", strings.Join(args, " "), got, want, err)
		}
		return nil
	}
	for _, verb := range []string{"list", "watch"} {
		if err := may("yes", verb, "pods"); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"get", "pods"}, {"create", "pods"}, {"delete", "pods"}, {"get", "pods/log"}, {"create", "pods/exec"}, {"list", "secrets"},
		{"get", "configmaps"}, {"list", "nodes"}, {"patch", "pods"}} {
		if err := may("no", args...); err != nil {
			return err
		}
	}
	c.say("the agent's account may list and watch pods, and nothing else that was asked")
	return nil
}
