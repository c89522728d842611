// Package deploy has what installs the agent: a Kustomize base and components, and the
// Dockerfile. Tests render them and check what they ask for.
package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

// objects are what a kustomization makes, decoded as the API server does: what it does not
// know is an error.
type objects struct {
	daemon  appsv1.DaemonSet
	role    rbacv1.ClusterRole
	policy  networkingv1.NetworkPolicy
	maps    []corev1.ConfigMap
	account corev1.ServiceAccount
	spaces  []corev1.Namespace
	binding rbacv1.ClusterRoleBinding
}

// render renders the base with components, as a user's overlay would.
func render(t *testing.T, components ...string) *objects {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	relative, err := filepath.Rel(dir, here)
	if err != nil {
		t.Fatal(err)
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: folio\nresources: [\"" + relative + "/base\"]\n"
	if len(components) > 0 {
		text += "components:\n"
	}
	for _, c := range components {
		text += "- " + relative + "/components/" + c + "\n"
	}
	text += "images: [{name: registry.example/folio-agent, newName: mine/folio-agent, newTag: v1}]\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	o := &objects{}
	for _, r := range all.Resources() {
		data, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		var to any
		switch r.GetKind() {
		case "DaemonSet":
			to = &o.daemon
		case "ClusterRole":
			to = &o.role
		case "NetworkPolicy":
			to = &o.policy
		case "ServiceAccount":
			to = &o.account
		case "ClusterRoleBinding":
			to = &o.binding
		case "Namespace":
			o.spaces = append(o.spaces, corev1.Namespace{})
			to = &o.spaces[len(o.spaces)-1]
		case "ConfigMap":
			o.maps = append(o.maps, corev1.ConfigMap{})
			to = &o.maps[len(o.maps)-1]
		default:
			t.Errorf("a %s", r.GetKind())
			continue
		}
		if err := yaml.UnmarshalStrict(data, to); err != nil {
			t.Errorf("%s: %v", r.GetKind(), err)
		}
	}
	return o
}

// capabilities are those of each container, and there are no others.
var capabilities = map[string][]corev1.Capability{
	"agent": {"SYS_PTRACE", "PERFMON"},
	"act":   {"SYS_PTRACE", "SYS_NICE"},
}

func (o *objects) check(t *testing.T, containers ...string) {
	t.Helper()
	spec := o.daemon.Spec.Template.Spec
	var names []string
	for _, c := range spec.Containers {
		names = append(names, c.Name)
		s := c.SecurityContext
		if s == nil || *s.Privileged || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.SeccompProfile.Type != "RuntimeDefault" ||
			!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || !slices.Equal(s.Capabilities.Add, capabilities[c.Name]) {
			t.Errorf("%s: %+v", c.Name, s)
		}
		for _, m := range c.VolumeMounts {
			own := slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name && v.EmptyDir != nil })
			if own != (c.Name == "act" && (m.MountPath == "/run/folio" || m.MountPath == "/var/lib/folio")) || !own && !m.ReadOnly {
				t.Errorf("%s can write to %s", c.Name, m.MountPath)
			}
		}
		if c.LivenessProbe == nil || c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s has no probe, limits or requests", c.Name)
		}
		if c.Image != "mine/folio-agent:v1" {
			t.Errorf("%s: image %s", c.Name, c.Image)
		}
	}
	if !slices.Equal(names, containers) {
		t.Errorf("containers %v", names)
	}
	if spec.HostNetwork || spec.HostIPC || !spec.HostPID || len(spec.InitContainers) > 0 {
		t.Errorf("%+v", spec)
	}
	for _, v := range spec.Volumes {
		if v.HostPath != nil && v.HostPath.Path != "/sys/fs/cgroup" {
			t.Errorf("the host's %s", v.HostPath.Path)
		}
	}
	rules := o.role.Rules
	if len(rules) != 1 || !slices.Equal(rules[0].Resources, []string{"pods"}) || !slices.Equal(rules[0].Verbs, []string{"list", "watch"}) ||
		!slices.Equal(rules[0].APIGroups, []string{""}) {
		t.Errorf("rules %+v", rules)
	}
	if len(o.policy.Spec.PolicyTypes) != 2 || len(o.policy.Spec.Ingress) != 1 || len(o.policy.Spec.Ingress[0].From) == 0 {
		t.Errorf("network policy %+v", o.policy.Spec)
	}
	for _, name := range []string{o.daemon.Namespace, o.account.Namespace, o.binding.Subjects[0].Namespace, o.spaces[0].Name} {
		if name != "folio" {
			t.Errorf("namespace %q", name)
		}
	}
	if spec.ServiceAccountName != o.account.Name || o.binding.Subjects[0].Name != o.account.Name || o.binding.RoleRef.Name != o.role.Name {
		t.Error("the account, its role and the pods do not belong together")
	}
}

func TestBase(t *testing.T) {
	o := render(t)
	o.check(t, "agent")
	if n := len(o.policy.Spec.Ingress[0].Ports); n != 1 {
		t.Errorf("%d ports are open", n)
	}
}

func TestComponents(t *testing.T) {
	o := render(t, "profiles", "act")
	o.check(t, "agent", "act")
	if n := len(o.policy.Spec.Ingress[0].Ports); n != 3 {
		t.Errorf("%d ports are open", n)
	}
	if len(o.maps) != 1 || o.maps[0].Data["policy.yaml"] == "" {
		t.Errorf("%+v", o.maps)
	}
	volumes := o.daemon.Spec.Template.Spec.Volumes
	if i := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == "policy" }); volumes[i].ConfigMap.Name != o.maps[0].Name || o.maps[0].Namespace != o.daemon.Namespace {
		t.Errorf("the pods mount %s of %s, want %s of %s", volumes[i].ConfigMap.Name, o.daemon.Namespace, o.maps[0].Name, o.maps[0].Namespace)
	}
	flags := regexp.MustCompile(`^(--[a-z-]+)=.+$`)
	for _, c := range o.daemon.Spec.Template.Spec.Containers {
		for _, arg := range c.Args[1:] {
			if !flags.MatchString(arg) {
				t.Errorf("%s: argument %q", c.Name, arg)
			}
		}
	}
}

// The line of the Dockerfile that builds makes programs without C, which start in an image
// that has nothing else.
func TestDockerfile(t *testing.T) {
	data, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^RUN (.*GOOS=\$TARGETOS GOARCH=\$TARGETARCH .*)go build (.*) -o /out/ (.*)$`).FindSubmatch(data)
	if m == nil || !bytes.Contains(data, []byte("FROM scratch\n")) {
		t.Fatal("no line that builds")
	}
	for _, arch := range []string{"amd64", "arm64"} {
		list := string(m[1]) + `go list -deps -f '{{if .CgoFiles}}cgo {{.ImportPath}}{{end}}{{if eq .Name "main"}}main {{.ImportPath}}{{end}}' ` + string(m[3])
		cmd := exec.Command("sh", "-c", list)
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH="+arch)
		out, err := cmd.CombinedOutput()
		const want = "main github.com/foliomem/folio/cmd/fleet/cmd/folio-agent\nmain github.com/foliomem/folio/cmd/fleet/cmd/folio-fleet\n"
		if err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s", arch, err, out)
		}
	}
}
