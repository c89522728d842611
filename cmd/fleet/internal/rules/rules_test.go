package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/foliomem/folio/internal/test/testenv"
)

func promtool(t *testing.T, dir string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func made(t *testing.T, o Options) File {
	t.Helper()
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func text(t *testing.T, o Options) []byte {
	t.Helper()
	data, err := made(t, o).YAML()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Whatever the sources, promtool finds the rules correct.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for _, sources := range [][]Source{Sources, {Agent}, {Application}, {Agent, Kube}, {Application, CAdvisor}, {Application, CAdvisor, Kube}} {
		write(t, filepath.Join(dir, "rules.yaml"), text(t, Options{Interval: DefaultInterval, Sources: sources, Alerts: true}))
		if out := promtool(t, dir, "check", "rules", "--lint-fatal", "rules.yaml"); !strings.Contains(out, "SUCCESS") {
			t.Errorf("%v: %s", sources, out)
		}
	}
}

// What the rules say of series is what was worked out by hand.
func TestUnits(t *testing.T) {
	dir := t.TempDir()
	for file, interval := range map[string]time.Duration{"rules_test.yaml": time.Minute, "growth_test.yaml": MaxInterval} {
		write(t, filepath.Join(dir, "rules.yaml"), text(t, Options{Interval: interval, Sources: Sources, Alerts: true}))
		tests, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, file), tests)
		promtool(t, dir, "test", "rules", file)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"no interval":      {Sources: Sources},
		"stale in between": {Interval: 5 * time.Minute, Sources: Sources},
		"half a second":    {Interval: 15500 * time.Millisecond, Sources: Sources},
		"nothing of Go":    {Interval: time.Minute, Sources: []Source{CAdvisor, Kube}},
		"unknown":          {Interval: time.Minute, Sources: []Source{Agent, "x"}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

var metric = regexp.MustCompile(`\b(folio|kube|container|go|process|workload|namespace_pod_container)(_|:)[a-z0-9_:]+`)

// Rules are of the sources that were asked for, and alerts are of series that are recorded.
func TestSources(t *testing.T) {
	f := made(t, Options{Interval: time.Minute, Sources: []Source{Application}, Alerts: true})
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			for _, name := range metric.FindAllString(r.Expr, -1) {
				if strings.HasPrefix(name, "folio_") || strings.HasPrefix(name, "kube_") {
					t.Errorf("%s%s asks for %s", r.Record, r.Alert, name)
				}
			}
		}
	}
	f = made(t, Options{Interval: time.Minute, Sources: Sources, Alerts: true})
	recorded := f.Recorded()
	alerts := f.Groups[len(f.Groups)-1].Rules
	for _, r := range alerts {
		for _, name := range metric.FindAllString(r.Expr, -1) {
			if strings.HasPrefix(name, "workload:") && !slices.Contains(recorded, name) {
				t.Errorf("alert %s is of %s, which is not recorded", r.Alert, name)
			}
		}
	}
	if groups := f.Recording(); len(groups) != 5 || len(recorded) < 25 || len(alerts) < 7 {
		t.Errorf("%d groups, %d series, %d alerts", len(groups), len(recorded), len(alerts))
	}
}

func TestObject(t *testing.T) {
	data, err := made(t, Options{Interval: time.Minute, Sources: Sources}).Object("x")
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		Kind string
		Spec File
	}
	if err := yaml.Unmarshal(data, &o); err != nil || o.Kind != "PrometheusRule" || len(o.Spec.Groups) != 5 || o.Spec.Groups[0].Rules[0].Record != Info {
		t.Errorf("%v\n%s", err, data)
	}
}
