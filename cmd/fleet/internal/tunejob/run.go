package tunejob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/foliomem/folio/cmd/fleet/internal/rounds"
)

// A Trial is a Job that is run to its end, and followed.
type Trial struct {
	Client kubernetes.Interface
	Job    *batchv1.Job
	Spec   JobSpec
	// Container is the one whose log has the rounds.
	Container string
	// Logs opens the log of a pod; nil asks the Client.
	Logs func(ctx context.Context, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error)
	// Every is how often the API is asked, Patience how long a pod may fail to start, or
	// the API to answer.
	Every, Patience time.Duration
	Keep            bool // the Job stays
	Progress        func(Progress)

	nodes    *nodes
	pods     map[string]*podState
	missing  time.Time // since when the API does not answer
	finished time.Time // when the Job ended
	wg       sync.WaitGroup
}

// A Progress is where a trial is.
type Progress struct {
	Rounds, Nodes int // rounds in all; nodes that have begun
	Running       int // pods
	Waiting       string
}

// podState is what is known of a pod.
type podState struct {
	name, node string
	cancel     context.CancelFunc
	stuck      time.Time // since when it cannot start
	why        string

	mu        sync.Mutex
	following bool
	said      bool // something
	complete  bool // its log was read to its end
	lost      bool // it took its round along
	over      bool // it said that it has no more rounds
}

// drain is how long logs are waited for when the Job has ended.
const drain = 30 * time.Second

// Run creates the Job, follows it until it ends, and deletes it. What was measured is
// returned with every error.
func (t *Trial) Run(ctx context.Context) ([]*Node, error) {
	t.nodes, t.pods = newNodes(), make(map[string]*podState)
	if t.Logs == nil {
		t.Logs = func(ctx context.Context, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
			return t.Client.CoreV1().Pods(t.Spec.Namespace).GetLogs(pod, o).Stream(ctx)
		}
	}
	if _, err := t.Client.BatchV1().Jobs(t.Spec.Namespace).Create(ctx, t.Job, metav1.CreateOptions{}); err != nil {
		return nil, t.explain("create the Job "+t.Spec.Name, err)
	}
	follow, stop := context.WithCancel(ctx)
	err := t.follow(follow)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	stop()
	t.wg.Wait()
	if !t.Keep {
		err = errors.Join(err, t.remove(ctx))
	}
	return t.nodes.list(), err
}

// remove deletes the Job and its pods, also when ctx has ended.
func (t *Trial) remove(ctx context.Context) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer stop()
	policy := metav1.DeletePropagationBackground
	err := t.Client.BatchV1().Jobs(t.Spec.Namespace).Delete(ctx, t.Spec.Name, metav1.DeleteOptions{PropagationPolicy: &policy})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("cannot delete the Job: run kubectl delete job -n %s %s: %w", t.Spec.Namespace, t.Spec.Name, err)
}

// explain says what to do about an error of the API.
func (t *Trial) explain(what string, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w; the account needs the Role of cmd/fleet/deploy/tune in namespace %s", err, t.Spec.Namespace)
	case apierrors.IsUnauthorized(err):
		err = fmt.Errorf("%w; the token or certificate of the kubeconfig is not valid, or has expired", err)
	case apierrors.IsNotFound(err):
		err = fmt.Errorf("%w; create the namespace: kubectl apply -k cmd/fleet/deploy/tune", err)
	}
	return fmt.Errorf("cannot %s: %w", what, err)
}

// errEnough ends following: the Job is done, or all that was asked for is there.
var errEnough = errors.New("enough")

// follow asks the API again and again until the trial has ended.
func (t *Trial) follow(ctx context.Context) error {
	ticker := time.NewTicker(t.Every)
	defer ticker.Stop()
	for {
		err := t.look(ctx)
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// look takes what the API says of the Job and its pods.
func (t *Trial) look(ctx context.Context) error {
	job, err := t.Client.BatchV1().Jobs(t.Spec.Namespace).Get(ctx, t.Spec.Name, metav1.GetOptions{})
	var pods *corev1.PodList
	if err == nil {
		pods, err = t.Client.CoreV1().Pods(t.Spec.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "folio.dev/tune=" + t.Spec.Name})
	}
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the Job %s was deleted", t.Spec.Name)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return t.explain("follow the Job "+t.Spec.Name, err)
	case err != nil:
		if t.missing.IsZero() {
			t.missing = time.Now()
		}
		if time.Since(t.missing) > t.Patience {
			return fmt.Errorf("the Kubernetes API did not answer for %v: %w", t.Patience, err)
		}
		return nil
	}
	t.missing = time.Time{}
	t.take(ctx, pods.Items)
	full, all := t.nodes.full(t.Spec.Plan.Rounds)
	t.report(pods.Items, all)
	if full >= t.Spec.Nodes || t.over() >= t.Spec.Nodes {
		return errEnough
	}
	return t.ended(job)
}

// over is how many pods have said that they have no more rounds.
func (t *Trial) over() (n int) {
	for _, s := range t.pods {
		s.mu.Lock()
		if s.over {
			n++
		}
		s.mu.Unlock()
	}
	return n
}

// take begins to follow pods that run, and ends with those that are gone.
func (t *Trial) take(ctx context.Context, pods []corev1.Pod) {
	here := make(map[string]bool)
	for i := range pods {
		p := &pods[i]
		uid := string(p.UID)
		here[uid] = true
		s := t.pods[uid]
		if s == nil {
			s = &podState{name: p.Name}
			t.pods[uid] = s
		}
		s.node = p.Spec.NodeName
		if why := stuck(p); why == "" || s.restarts(p) {
			s.stuck, s.why = time.Time{}, ""
		} else {
			if s.stuck.IsZero() {
				s.stuck = time.Now()
			}
			s.why = why
		}
		if started(p, t.Container) {
			t.read(ctx, uid, s, p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed)
		}
		if p.Status.Phase == corev1.PodFailed && p.Status.Reason != "" {
			t.lose(s, fmt.Sprintf("pod %s ended: %s: %s", s.name, p.Status.Reason, p.Status.Message))
		}
	}
	for uid, s := range t.pods {
		if here[uid] {
			continue
		}
		if s.cancel != nil {
			time.AfterFunc(tailOfLog, s.cancel)
		}
		t.lose(s, "pod "+s.name+" was deleted, or its node was")
		s.mu.Lock()
		s.complete = true
		s.mu.Unlock()
		s.stuck, s.why = time.Time{}, ""
	}
}

// tailOfLog is how long the last lines of a pod that is gone may take to come.
const tailOfLog = 5 * time.Second

// lose says once of a pod that began and did not end that its round is lost.
func (t *Trial) lose(s *podState, why string) {
	s.mu.Lock()
	lost := s.said && !s.complete && !s.over && !s.lost
	s.lost = true
	s.mu.Unlock()
	if lost {
		t.nodes.lose(s.node, why)
	}
}

// read follows the log of a pod, unless somebody does, or all was read. A container that is
// started again says again what it said before.
func (t *Trial) read(ctx context.Context, uid string, s *podState, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.following || s.complete {
		return
	}
	s.following = true
	node := s.node
	ctx, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	t.wg.Go(func() {
		defer cancel()
		err := t.readLog(ctx, uid, node, s)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.following, s.complete = false, s.complete || last && err == nil
	})
}

func (t *Trial) readLog(ctx context.Context, uid, node string, s *podState) error {
	log, err := t.Logs(ctx, s.name, &corev1.PodLogOptions{Container: t.Container, Follow: true})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { log.Close() })()
	defer log.Close()
	return rounds.Read(log, func(l rounds.Line) {
		t.nodes.add(s.name, uid, node, l, len(t.Spec.Plan.Settings))
		s.mu.Lock()
		s.said, s.over = true, s.over || l.Kind == rounds.End || l.Kind == rounds.Failed
		s.mu.Unlock()
	})
}

// restarts says that the container waits to be started again after it was killed, which
// takes up to 5 minutes, and that it did run: its pod is not stuck.
func (s *podState) restarts(p *corev1.Pod) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said && p.Status.Phase == corev1.PodRunning
}

// started reports whether a container has a log.
func started(p *corev1.Pod, container string) bool {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == container {
			return c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
		}
	}
	return false
}

// stuck says why a pod cannot start; "" where it can.
func stuck(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && p.Spec.NodeName == "" {
			return "no node for it: " + c.Message
		}
	}
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, c := range list {
			w := c.State.Waiting
			if w == nil || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing" || w.Reason == "" {
				continue
			}
			text := "container " + c.Name + ": " + w.Reason
			if w.Message != "" {
				text += ": " + w.Message
			}
			if last := c.LastTerminationState.Terminated; last != nil {
				text += fmt.Sprintf("; it ended with %s, exit code %d", last.Reason, last.ExitCode)
			}
			return text
		}
	}
	return ""
}

// report tells the progress.
func (t *Trial) report(pods []corev1.Pod, all int) {
	if t.Progress == nil {
		return
	}
	p := Progress{Rounds: all}
	on := make(map[string]bool)
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodRunning {
			p.Running++
		}
		if n := pods[i].Spec.NodeName; n != "" {
			on[n] = true
		}
		if why := stuck(&pods[i]); why != "" && p.Waiting == "" {
			p.Waiting = pods[i].Name + ": " + why
		}
	}
	p.Nodes = len(on)
	t.Progress(p)
}

// ended says whether the Job has ended, or nothing more will come of it.
func (t *Trial) ended(job *batchv1.Job) error {
	failed := ""
	over := false
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			over = true
		case batchv1.JobFailed:
			over, failed = true, c.Reason+": "+c.Message
		}
	}
	if over {
		if t.finished.IsZero() {
			t.finished = time.Now()
		}
		if t.reading() && time.Since(t.finished) < drain {
			return nil
		}
		if failed != "" {
			return fmt.Errorf("the Job failed: %s", failed)
		}
		return errEnough
	}
	return t.hopeless()
}

// reading says whether the log of some pod is not read to its end.
func (t *Trial) reading() bool {
	for _, s := range t.pods {
		s.mu.Lock()
		left := s.following || !s.complete
		s.mu.Unlock()
		if left {
			return true
		}
	}
	return false
}

// hopeless is the error of a trial of which all pods that have not ended cannot start, and
// could not for long.
func (t *Trial) hopeless() error {
	why := ""
	for _, s := range t.pods {
		s.mu.Lock()
		done := s.complete || s.over
		s.mu.Unlock()
		switch {
		case done:
		case s.stuck.IsZero() || time.Since(s.stuck) < t.Patience:
			return nil
		default:
			why = "pod " + s.name + " cannot start: " + s.why
		}
	}
	if why == "" {
		return nil
	}
	return errors.New(why)
}
