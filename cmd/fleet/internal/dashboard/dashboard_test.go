package dashboard

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/rules"
	"github.com/foliomem/folio/internal/test/testenv"
)

// what Grafana replaces.
var replacer = strings.NewReplacer("$__range", "1h", "$namespace", ".*", "$workload", ".*", "$container", ".*")

func queries(t *testing.T) []string {
	t.Helper()
	data, err := JSON()
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, p := range d.Panels {
		if p.GridPos.X+p.GridPos.W > 24 || len(p.Targets) == 0 {
			t.Errorf("panel %s at %+v", p.Title, p.GridPos)
		}
		for _, q := range d.Panels[:i] {
			if a, b := p.GridPos, q.GridPos; a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s is over %s", p.Title, q.Title)
			}
		}
		for _, q := range p.Targets {
			out = append(out, replacer.Replace(q.Expr))
		}
	}
	if len(out) < 20 {
		t.Fatalf("%d queries", len(out))
	}
	return out
}

// promtool parses every query.
func TestParse(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	var g rules.Group
	g.Name = "dashboard"
	for _, q := range queries(t) {
		if strings.Contains(q, "$") {
			t.Errorf("%s: a variable is left", q)
		}
		g.Rules = append(g.Rules, rules.Rule{Record: "x", Expr: q, Labels: map[string]string{"n": string(rune('a' + len(g.Rules)))}})
	}
	data, err := rules.File{Groups: []rules.Group{g}}.YAML()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Every series of the dashboard is one that the rules record, or the agent serves.
func TestSeries(t *testing.T) {
	f, err := rules.New(rules.Options{Interval: time.Minute, Sources: rules.Sources})
	if err != nil {
		t.Fatal(err)
	}
	recorded := f.Recorded()
	source, err := os.ReadFile("../metrics/names.go")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`\bworkload:folio_[a-z0-9_]+:[a-z0-9]+|\bfolio_agent_[a-z_]+`)
	n := 0
	for _, q := range queries(t) {
		for _, m := range name.FindAllString(q, -1) {
			n++
			if !slices.Contains(recorded, m) && !strings.Contains(string(source), `"`+m+`"`) {
				t.Errorf("%s: there is no series %s", q, m)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d series", n)
	}
}
