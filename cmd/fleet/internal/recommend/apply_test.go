package recommend

import (
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
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

// withSidecar has a native sidecar beside an init container that ends.
const withSidecar = `apiVersion: batch/v1
kind: CronJob
metadata:
  name: nightly
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          initContainers:
            - name: migrate
              image: migrate
            - name: proxy
              image: proxy
              restartPolicy: Always
              env:
                - name: GOGC
                  value: "50"
          containers:
            - name: work
              image: work
`

// A native sidecar is an init container: a patch of it goes there, and adds no container.
func TestPatchOfSidecar(t *testing.T) {
	target, err := kubernetes.ParseTarget("cronjob/nightly:proxy")
	if err != nil {
		t.Fatal(err)
	}
	request := 256.0 * (1 << 20)
	a := &Advice{Advised: Setting{GOGC: "200", Request: &request}, Init: true}
	target.Init = a.Init
	text, err := a.Patch("nightly", nil).YAML(target)
	if err != nil {
		t.Fatal(err)
	}
	old, err := yaml.YAMLToJSON([]byte(withSidecar))
	if err != nil {
		t.Fatal(err)
	}
	patch, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := strategicpatch.StrategicMergePatch(old, patch, batchv1.CronJob{})
	if err != nil {
		t.Fatal(err)
	}
	var job batchv1.CronJob
	if err := yaml.Unmarshal(merged, &job); err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.InitContainers) != 2 {
		t.Fatalf("%d containers, %d init containers:\n%s", len(pod.Containers), len(pod.InitContainers), merged)
	}
	for _, c := range pod.InitContainers {
		if c.Name == "migrate" && len(c.Env) == 0 && c.RestartPolicy == nil {
			continue
		}
		if c.Name != "proxy" || c.Image != "proxy" || c.RestartPolicy == nil || len(c.Env) != 1 || c.Env[0].Value != "200" || c.Resources.Requests.Memory().Value() != 256<<20 {
			t.Errorf("merged: %+v", c)
		}
	}
}
