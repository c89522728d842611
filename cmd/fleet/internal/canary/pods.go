package canary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/foliomem/folio/cmd/fleet/internal/act"
	"github.com/foliomem/folio/cmd/fleet/internal/kube"
)

// A member is a pod that takes part.
type member struct {
	name     string
	uid      types.UID
	restarts int32
	leased   bool
}

// find returns the pods of the workload that are ready, and completes its name.
func (c *Canary) find(ctx context.Context) ([]member, error) {
	list, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	var all []member
	c.kind = ""
	for i := range list {
		p := &list[i]
		w := kube.WorkloadOf(p)
		if w.Name != c.Name.Workload {
			continue
		}
		if c.kind != "" && c.kind != w.Kind {
			return nil, fmt.Errorf("namespace %s has a %s and a %s of the name %s: give workloads names of their own", c.Name.Namespace, c.kind, w.Kind, w.Name)
		}
		c.kind = w.Kind
		if l, err := act.ParseLease(p.Annotations[act.LeaseAnnotation]); err == nil && time.Now().Before(l.Until) {
			return nil, fmt.Errorf("pod %s takes part in another comparison, until %s at the latest", p.Name, l.Until.Format(time.RFC3339))
		}
		if !ready(p) {
			continue
		}
		if err := c.container(p); err != nil {
			return nil, err
		}
		all = append(all, member{name: p.Name, uid: p.UID, restarts: restarts(p)})
	}
	if c.kind == "" {
		return nil, fmt.Errorf("namespace %s has no pod of %s", c.Name.Namespace, c.Name.Workload)
	}
	slices.SortFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// container checks the name of the container, or completes it.
func (c *Canary) container(p *corev1.Pod) error {
	var names []string
	for _, s := range p.Spec.Containers {
		names = append(names, s.Name)
	}
	if c.Name.Container == "" && len(names) == 1 {
		c.Name.Container = names[0]
	}
	if !slices.Contains(names, c.Name.Container) {
		return fmt.Errorf("pod %s has the containers %s: give one, as in %s/%s:%s", p.Name, strings.Join(names, ", "), c.Name.Namespace, c.Name.Workload, names[0])
	}
	return nil
}

func (c *Canary) list(ctx context.Context) ([]corev1.Pod, error) {
	list, err := c.Pods.CoreV1().Pods(c.Name.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, c.explain("list the pods of namespace "+c.Name.Namespace, err)
	}
	return list.Items, nil
}

// explain says what to do about an error of the API.
func (c *Canary) explain(what string, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w; the account needs the right to list and patch pods in namespace %s", err, c.Name.Namespace)
	case apierrors.IsUnauthorized(err):
		err = fmt.Errorf("%w; the token or certificate of the kubeconfig is not valid, or has expired", err)
	}
	return fmt.Errorf("cannot %s: %w", what, err)
}

func ready(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning &&
		slices.ContainsFunc(p.Status.Conditions, func(s corev1.PodCondition) bool { return s.Type == corev1.PodReady && s.Status == corev1.ConditionTrue })
}

func restarts(p *corev1.Pod) (n int32) {
	for _, s := range p.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}

// same checks that all pods are still what they were.
func (c *Canary) same(ctx context.Context) error {
	list, err := c.list(ctx)
	if err != nil {
		return err
	}
	now := make(map[types.UID]*corev1.Pod, len(list))
	for i := range list {
		now[list[i].UID] = &list[i]
	}
	for _, g := range c.groups {
		for _, m := range g {
			p := now[m.uid]
			switch {
			case p == nil:
				return stop("pod %s is gone", m.name)
			case restarts(p) != m.restarts:
				return stop("a container of pod %s was restarted%s", m.name, lastEnd(p))
			case !ready(p):
				return stop("pod %s is not ready", m.name)
			}
		}
	}
	return nil
}

// lastEnd says how a container that was restarted ended.
func lastEnd(p *corev1.Pod) string {
	for _, s := range p.Status.ContainerStatuses {
		if t := s.LastTerminationState.Terminated; t != nil {
			return fmt.Sprintf(" (%s: %s, exit code %d)", s.Name, t.Reason, t.ExitCode)
		}
	}
	return ""
}

// give puts leases on pods.
func (c *Canary) give(ctx context.Context, pods []member, until time.Time) error {
	value := c.lease(until.Add(c.skew).UTC().Truncate(time.Second)).String()
	for i := range pods {
		m := &pods[i]
		m.leased = true // perhaps, even if it fails
		if err := c.annotate(ctx, m, &value); err != nil {
			m.leased = !lasting(err)
			return c.explain("annotate pod "+m.name, err)
		}
	}
	return nil
}

// take takes leases from pods. One that is gone has none.
func (c *Canary) take(ctx context.Context, pods []member) (err error) {
	ctx, end := context.WithTimeout(ctx, 15*time.Second)
	defer end()
	for i := range pods {
		m := &pods[i]
		if !m.leased {
			continue
		}
		e := c.annotate(ctx, m, nil)
		if m.leased = e != nil && !apierrors.IsNotFound(e) && !apierrors.IsConflict(e); m.leased {
			err = errors.Join(err, c.explain(fmt.Sprintf("take the annotation %s from pod %s, which ends by itself within %v of its block", act.LeaseAnnotation, m.name, grace), e))
		}
	}
	return err
}

// annotate changes the annotation of the lease, of that pod and not of another with its name.
func (c *Canary) annotate(ctx context.Context, m *member, value *string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": m.uid, "annotations": map[string]*string{act.LeaseAnnotation: value},
	}})
	if err != nil {
		return err
	}
	_, err = c.Pods.CoreV1().Pods(c.Name.Namespace).Patch(ctx, m.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "folio-fleet"})
	return err
}
