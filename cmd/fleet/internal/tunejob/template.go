package tunejob

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/manifest"
	"github.com/foliomem/folio/cmd/fleet/internal/rounds"
	"github.com/foliomem/folio/cmd/internal/program/gosetting"
	"github.com/foliomem/folio/cmd/internal/trial"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LeastNodes is how many nodes it takes to recommend anything: what wins on one machine
// often loses on the next.
const LeastNodes = 3

const (
	// MountPath is where the volume with the driver is in the container.
	MountPath = "/folio-rounds"
	program   = MountPath + "/folio-fleet"
	volume    = "folio-rounds"
	copier    = "folio-copy"
	// copyUser is the user of the container that copies: any but root.
	copyUser = 65532

	nameLabel    = "app.kubernetes.io/name"
	managedLabel = "app.kubernetes.io/managed-by"
)

// A Template is what is to be tuned: the pod of a Job, and which of its containers.
type Template struct {
	Pod       corev1.PodTemplateSpec
	Container string
	Notes     []string // what of the pod is not taken over
}

// maxTemplate bounds the file of a Job: the API server takes 3 MiB at most.
const maxTemplate = 3 << 20

// ReadTemplate reads the pod of a Job, CronJob or Pod; container names one of it, or is "".
func ReadTemplate(name string, r io.Reader, container string) (*Template, error) {
	wrong := func(err error) (*Template, error) { return nil, fmt.Errorf("%s: %w", name, err) }
	data, err := io.ReadAll(io.LimitReader(r, maxTemplate+1))
	switch {
	case err != nil:
		return wrong(err)
	case len(data) > maxTemplate:
		return wrong(errors.New("larger than 3 MiB: not the file of a Job"))
	case bytes.Contains(bytes.TrimSpace(data), []byte("\n---")):
		return wrong(errors.New("it has several objects: give a file with the Job alone"))
	}
	kind, err := manifest.Kind(data)
	if err != nil {
		return wrong(err)
	}
	t := &Template{}
	switch kind {
	case "Job":
		var job batchv1.Job
		err = manifest.Unmarshal(data, &job)
		t.Pod = job.Spec.Template
	case "CronJob":
		var job batchv1.CronJob
		err = manifest.Unmarshal(data, &job)
		t.Pod = job.Spec.JobTemplate.Spec.Template
	case "Pod":
		var pod corev1.Pod
		err = manifest.Unmarshal(data, &pod)
		t.Pod = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: pod.Spec}
	case "":
		return wrong(errors.New("it has no kind: want a Job, a CronJob or a Pod"))
	default:
		return wrong(fmt.Errorf("it is a %s: want a Job, a CronJob or a Pod, whose program does the same work each time and ends by itself", kind))
	}
	if err != nil {
		return wrong(err)
	}
	if err := t.choose(container); err != nil {
		return wrong(err)
	}
	return t, nil
}

// choose finds the container, and leaves out the others.
func (t *Template) choose(name string) error {
	all := t.Pod.Spec.Containers
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	i := slices.Index(names, name)
	switch {
	case len(all) == 0:
		return errors.New("it has no container")
	case name == "" && len(all) > 1:
		return fmt.Errorf("it has %d containers, %s: name one with --container", len(all), strings.Join(names, ", "))
	case name == "":
		i = 0
	case i < 0:
		return fmt.Errorf("it has no container %s: it has %s", name, strings.Join(names, ", "))
	}
	c := all[i]
	if len(c.Command) == 0 {
		return fmt.Errorf("container %s has no command: the entry point of an image is not known to Kubernetes, write it as command", c.Name)
	}
	if err := checkEnv(c); err != nil {
		return err
	}
	for _, other := range slices.Delete(names, i, i+1) {
		t.Notes = append(t.Notes, "container "+other+" of the pod is left out")
	}
	t.Pod.Spec.Containers, t.Container = []corev1.Container{c}, c.Name
	return nil
}

// checkEnv refuses variables that a Go program does not read as they are meant.
func checkEnv(c corev1.Container) error {
	for _, v := range c.Env {
		err := gosetting.Check(v.Name+"="+v.Value, "")
		if p, ok := errors.AsType[*gosetting.Problem](err); ok && !p.Unknown {
			return fmt.Errorf("container %s: env %w", c.Name, err)
		}
		if v.ValueFrom == nil || v.ValueFrom.ResourceFieldRef == nil || v.Name != "GOMEMLIMIT" {
			continue
		}
		// Kubernetes writes the quotient without a unit, and Go reads bytes.
		if d := v.ValueFrom.ResourceFieldRef.Divisor; !d.IsZero() && d.Cmp(resource.MustParse("1")) != 0 {
			return fmt.Errorf("container %s: env GOMEMLIMIT of %s with divisor %s: a Go program reads the number as bytes; write divisor: \"1\"",
				c.Name, v.ValueFrom.ResourceFieldRef.Resource, d.String())
		}
	}
	return nil
}

// FromImage makes a pod with one container.
func FromImage(image string, command []string, memory, cpu string) (*Template, error) {
	if len(command) == 0 {
		return nil, errors.New("--image: no command: folio-fleet tune --image IMAGE -- /path/of/program args")
	}
	no := false
	c := corev1.Container{
		Name: "program", Image: image, Command: command,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, Privileged: &no,
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	list := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceMemory: memory, corev1.ResourceCPU: cpu} {
		if text == "" {
			continue
		}
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Sign() <= 0 {
			return nil, fmt.Errorf("--%s %q: want a quantity as Kubernetes has it, such as 512Mi or 1500m", name, text)
		}
		list[name] = q
	}
	if len(list) > 0 {
		c.Resources = corev1.ResourceRequirements{Limits: list, Requests: list}
	}
	t := &Template{Container: c.Name}
	t.Pod.Spec.Containers = []corev1.Container{c}
	t.Pod.Spec.EnableServiceLinks = &no
	return t, nil
}

// MemoryLimit is the limit of the container; 0 for none.
func (t *Template) MemoryLimit() uint64 {
	q, ok := t.Pod.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]
	if !ok || q.Sign() <= 0 {
		return 0
	}
	return uint64(q.Value())
}

// limitShare is the part of a memory limit that GOMEMLIMIT gets: memory that the runtime
// does not count needs the rest. Where it needs more, the pods leave the setting out.
const limitShare = 0.9

// Within gives settings that let the heap grow a GOMEMLIMIT within the limit of the
// container, as folio tune does, unless they have one.
func (t *Template) Within(settings []trial.Setting) []trial.Setting {
	limit := t.MemoryLimit()
	out := slices.Clone(settings)
	for i, s := range out {
		percent, _ := strconv.Atoi(s.GOGC)
		if grows := s.GOGC == trial.Off || percent > 100; !grows || limit == 0 || s.MemLimit != 0 {
			continue
		}
		out[i].MemLimit = uint64(limitShare*float64(limit)) >> 20 << 20
	}
	return out
}

// A JobSpec says how the Job is made.
type JobSpec struct {
	Name, Namespace string
	Nodes           int
	Plan            *rounds.Plan
	Image           string // that the driver is copied from; "" where the container has it
	Path            string // of the driver in the container's own image; "" to copy it
	Deadline        time.Duration
}

// keepFor is how long a Job stays that nobody deletes: it was interrupted by SIGKILL.
const keepFor = time.Hour

// Job makes the Job of a template.
func (t *Template) Job(s JobSpec) (*batchv1.Job, error) {
	plan, err := json.Marshal(s.Plan)
	if err != nil {
		return nil, err
	}
	pod := t.Pod.DeepCopy()
	labels := map[string]string{nameLabel: "folio-tune", managedLabel: "folio-fleet", "folio.dev/tune": s.Name}
	pod.ObjectMeta = metav1.ObjectMeta{Labels: mergeLabels(pod.Labels, labels), Annotations: pod.Annotations}
	spec := &pod.Spec
	// A container that is killed is started again in the same pod, where the lines of its
	// rounds are.
	spec.RestartPolicy = corev1.RestartPolicyOnFailure
	spec.NodeName, spec.ActiveDeadlineSeconds = "", nil
	if spec.AutomountServiceAccountToken == nil && spec.ServiceAccountName == "" {
		no := false
		spec.AutomountServiceAccountToken = &no
	}
	t.apart(spec, s.Name)
	leaveLostNodes(spec)
	driver := s.Path
	if driver == "" {
		driver = program
		spec.InitContainers = append([]corev1.Container{copies(s.Image)}, spec.InitContainers...)
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	c := &spec.Containers[0]
	c.Command, c.Args = slices.Concat([]string{driver, "rounds", "--"}, c.Command, c.Args), nil
	c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: MountPath})
	c.Env = append(c.Env,
		// $$ is how Kubernetes writes a $ that begins no reference.
		corev1.EnvVar{Name: rounds.PlanEnv, Value: strings.ReplaceAll(string(plan), "$", "$$")},
		corev1.EnvVar{Name: rounds.NodeEnv, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
		corev1.EnvVar{Name: rounds.DirEnv, Value: MountPath})
	nodes, mode := int32(s.Nodes), batchv1.IndexedCompletion
	// Each setting may get a container killed twice, and pods are lost with their nodes.
	retries := nodes * int32(2*len(s.Plan.Settings)+6)
	deadline, ttl := int64(s.Deadline.Seconds()), int32(keepFor.Seconds())
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace, Labels: labels},
		Spec: batchv1.JobSpec{
			CompletionMode: &mode, Completions: &nodes, Parallelism: &nodes, BackoffLimit: &retries,
			ActiveDeadlineSeconds: &deadline, TTLSecondsAfterFinished: &ttl, Template: *pod,
		},
	}, nil
}

func mergeLabels(all ...map[string]string) map[string]string {
	out := make(map[string]string)
	for _, m := range all {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// apart has no two pods of the Job on one node: they would disturb each other.
func (t *Template) apart(spec *corev1.PodSpec, job string) {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.PodAntiAffinity == nil {
		spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	a := spec.Affinity.PodAntiAffinity
	a.RequiredDuringSchedulingIgnoredDuringExecution = append(a.RequiredDuringSchedulingIgnoredDuringExecution, corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"folio.dev/tune": job}},
		TopologyKey:   corev1.LabelHostname,
	})
}

// leaveLostNodes has pods leave a node that is lost after a minute, not after five.
func leaveLostNodes(spec *corev1.PodSpec) {
	seconds := int64(60)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if slices.ContainsFunc(spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == key }) {
			continue
		}
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
		})
	}
}

// copies is the container that copies the driver into the volume.
func copies(image string) corev1.Container {
	no, yes, user := false, true, int64(copyUser)
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
	return corev1.Container{
		Name: copier, Image: image, Command: []string{"/folio-fleet", "rounds", "--copy-to", program},
		Resources: corev1.ResourceRequirements{Requests: list, Limits: list},
		SecurityContext: &corev1.SecurityContext{
			RunAsUser: &user, RunAsGroup: &user, RunAsNonRoot: &yes,
			AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: volume, MountPath: MountPath}},
	}
}
