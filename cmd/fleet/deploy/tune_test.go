package deploy

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Whoever runs trials has the rights that a trial uses, in one namespace, and no other.
func TestTune(t *testing.T) {
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "tune")
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	var account corev1.ServiceAccount
	var space corev1.Namespace
	known := map[string]any{"Role": &role, "RoleBinding": &binding, "ServiceAccount": &account, "Namespace": &space}
	for _, r := range all.Resources() {
		data, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		to := known[r.GetKind()]
		if to == nil {
			t.Errorf("a %s", r.GetKind())
		} else if err := yaml.UnmarshalStrict(data, to); err != nil {
			t.Errorf("%s: %v", r.GetKind(), err)
		}
	}
	var rights []string
	for _, rule := range role.Rules {
		rights = append(rights, strings.Join(rule.APIGroups, ",")+"/"+strings.Join(rule.Resources, ",")+": "+strings.Join(rule.Verbs, " "))
	}
	if want := []string{"batch/jobs: create get delete", "/pods: list", "/pods/log: get"}; !slices.Equal(rights, want) {
		t.Errorf("rights %q", rights)
	}
	for _, name := range []string{role.Namespace, binding.Namespace, account.Namespace, binding.Subjects[0].Namespace, space.Name} {
		if name != "folio-tune" {
			t.Errorf("namespace %q", name)
		}
	}
	if binding.RoleRef.Kind != "Role" || binding.RoleRef.Name != role.Name || binding.Subjects[0].Name != account.Name {
		t.Errorf("binding %+v", binding)
	}
	if space.Labels["pod-security.kubernetes.io/enforce"] != "baseline" {
		t.Errorf("labels %v", space.Labels)
	}
}
