package recommend

import (
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/foliomem/folio/cmd/internal/result/kubernetes"
)

// deployment takes GOMEMLIMIT from the limit of the container, as charts do.
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: checkout
spec:
  template:
    spec:
      containers:
        - name: server
          image: checkout
          env:
            - name: KEPT
              value: "yes"
            - name: GOMEMLIMIT
              valueFrom:
                resourceFieldRef:
                  resource: limits.memory
                  divisor: "1"
            - name: GOGC
              value: "50"
`

// A patch replaces valueFrom: a variable with both is refused by Kubernetes. kubectl and
// Kustomize merge it alike.
func TestPatchReplacesValueFrom(t *testing.T) {
	target, err := kubernetes.ParseTarget("deployment/checkout:server")
	if err != nil {
		t.Fatal(err)
	}
	limit := 966.0 * (1 << 20)
	a := &Advice{Advised: Setting{GOGC: "200", GOMEMLIMIT: &limit}}
	text, err := a.Patch("checkout", nil).YAML(target)
	if err != nil {
		t.Fatal(err)
	}
	check := func(t *testing.T, merged []byte) {
		t.Helper()
		var d appsv1.Deployment
		if err := yaml.Unmarshal(merged, &d); err != nil {
			t.Fatal(err)
		}
		got := make(map[string]string)
		for _, v := range d.Spec.Template.Spec.Containers[0].Env {
			if v.ValueFrom != nil {
				t.Errorf("%s has valueFrom", v.Name)
			}
			if _, twice := got[v.Name]; twice {
				t.Errorf("%s is there twice", v.Name)
			}
			got[v.Name] = v.Value
		}
		if len(got) != 3 || got["KEPT"] != "yes" || got["GOMEMLIMIT"] != "966MiB" || got["GOGC"] != "200" {
			t.Errorf("merged: %v", got)
		}
	}
	t.Run("kubectl", func(t *testing.T) {
		old, err := yaml.YAMLToJSON([]byte(deployment))
		if err != nil {
			t.Fatal(err)
		}
		patch, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		merged, err := strategicpatch.StrategicMergePatch(old, patch, appsv1.Deployment{})
		if err != nil || !json.Valid(merged) {
			t.Fatal(err)
		}
		check(t, merged)
	})
	t.Run("kustomize", func(t *testing.T) {
		fs := filesys.MakeFsInMemory()
		for name, data := range map[string]string{"deployment.yaml": deployment, "patch.yaml": text,
			"kustomization.yaml": "resources: [deployment.yaml]\npatches: [{path: patch.yaml}]\n"} {
			if err := fs.WriteFile(name, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, ".")
		if err != nil {
			t.Fatal(err)
		}
		merged, err := m.AsYaml()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(merged), "valueFrom") {
			t.Errorf("merged:\n%s", merged)
		}
		check(t, merged)
	})
}
