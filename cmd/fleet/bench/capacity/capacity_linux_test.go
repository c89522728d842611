package capacity

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/fleet/internal/rules"
	"github.com/foliomem/folio/cmd/fleet/internal/test/promtest"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/test/testenv"
)

// The figures of docs/fleet-capacity.md: go test -run TestCapacity -v ./cmd/bench/capacity
func TestCapacity(t *testing.T) {
	f := Default()
	s, err := ScrapeOf(f.Pods / f.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	each := float64(s.Series-s.Own) / float64(f.Pods/f.Nodes)
	if each > metrics.PerContainer || each < metrics.PerContainer/2 {
		t.Errorf("%.1f series a container, the contract says %d at most", each, metrics.PerContainer)
	}
	t.Logf("one agent, %d containers: %d series (%.0f a container, %d of the agent), %s a scrape, %s compressed", f.Pods/f.Nodes, s.Series, each, s.Own, unit.Size(s.Bytes), unit.Size(s.Zip))
	perWorkload, perContainer, err := Recorded(f.Sources)
	if err != nil || perWorkload < 40 || perContainer != 1 {
		t.Fatal(perWorkload, perContainer, err)
	}
	t.Logf("rules: %d series a workload, %d a container", perWorkload, perContainer)
	for _, deploys := range []float64{0, 1, 5} {
		f.DeploysPerDay = deploys
		l, err := f.Reckon()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.0f deployments of each workload a day: %s scraped series, %s recorded, %s in memory at most", deploys, unit.Scaled(float64(l.Scraped)), unit.Scaled(float64(l.Recorded)), unit.Scaled(float64(l.Head)))
		if deploys == 1 {
			t.Logf("samples a second: %s scraped, %s recorded; %s/s compressed", unit.Scaled(l.ScrapedSamples), unit.Scaled(l.RuleSamples), unit.Bytes(l.Network))
			t.Logf("top of a day reads %s samples, recommend of a week %s", unit.Scaled(l.TopSamples), unit.Scaled(l.RecommendSamples))
			t.Logf("distributors of Mimir by its documentation (25,000 samples a second for a core and 1 GB): %.1f cores", (l.ScrapedSamples+l.RuleSamples)/25_000)
		}
		if deploys == 0 && l.Head != l.Scraped+l.Recorded || deploys > 0 && l.Head <= l.Scraped+l.Recorded {
			t.Errorf("%+v", l)
		}
	}
}

// What a sample takes on disk: two hours of an agent in a block of Prometheus.
func TestBlock(t *testing.T) {
	testenv.Long(t)
	p := promtest.New(t)
	s, err := ScrapeOf(20)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^([a-z_]+\{.*\}) (\S+)$`)
	start := time.Now().Add(-24 * time.Hour).Truncate(promtest.Block)
	var b bytes.Buffer
	samples := 0
	for _, m := range line.FindAllSubmatch(s.Text, -1) {
		v, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(promtest.Block / (30 * time.Second)) {
			at := v
			if strings.Contains(string(m[1]), "_total{") {
				at = v + float64(i)*v/1e4*(1+.1*float64(i%7)) // counts on, unevenly
			} else if strings.Contains(string(m[1]), "_bytes") && i%2 == 0 {
				at = v + float64((i%13)*4096)
			}
			b.WriteString(promtest.Sample(string(m[1]), at, start.Add(time.Duration(i)*30*time.Second)))
			samples++
		}
	}
	p.Backfill(t, b.Bytes())
	size := int64(0)
	if err := filepath.Walk(p.Data, func(_ string, i os.FileInfo, err error) error {
		if err == nil && !i.IsDir() {
			size += i.Size()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d samples of %d series in a block of %s: %.2f bytes a sample", samples, s.Series, unit.Size(size), float64(size)/float64(samples))
	if size == 0 || samples < 240*s.Series*9/10 {
		t.Errorf("%d samples, %d bytes", samples, size)
	}
}

// What the rules cost: a Prometheus that scrapes 5,000 containers at once.
func TestRulesCost(t *testing.T) {
	testenv.FullOnly(t)
	const containers = 5000
	s, err := ScrapeOf(containers)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.Text) }))
	defer h.Close()
	p := promtest.New(t)
	f, err := rules.New(rules.Options{Interval: rules.MinInterval, Sources: rules.Sources, Alerts: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := f.YAML()
	if err != nil {
		t.Fatal(err)
	}
	file := p.File(t, "rules.yaml", text)
	p.Start(t, fmt.Sprintf("global: {scrape_interval: 30s}\nrule_files: [%q]\nscrape_configs:\n- {job_name: agents, honor_labels: true, static_configs: [{targets: [%q]}]}\n", file, strings.TrimPrefix(h.URL, "http://")))
	// own adds up what the server says of itself.
	own := func(name, labels string) (sum float64) {
		resp, err := http.Get(p.URL + "/metrics")
		if err != nil {
			return 0
		}
		defer resp.Body.Close()
		all, _ := io.ReadAll(resp.Body)
		for _, m := range regexp.MustCompile(`(?m)^`+name+labels+` (\S+)$`).FindAllSubmatch(all, -1) {
			v, _ := strconv.ParseFloat(string(m[1]), 64)
			sum += v
		}
		return sum
	}
	end := time.Now().Add(2 * time.Minute)
	for time.Now().Before(end) {
		time.Sleep(time.Second)
	}
	series, took := own("prometheus_tsdb_head_series", ""), own("prometheus_rule_group_last_duration_seconds", `\{.*;folio-[^a][a-z]+"\}`)+own("prometheus_rule_group_last_duration_seconds", `\{.*;folio-a(gent|pplication)"\}`)
	t.Logf("%d containers, scraped each 30 s: %.0f series in memory, RSS %s (%s a series), an evaluation of all rules took %.2f s", containers, series, unit.Bytes(own("process_resident_memory_bytes", "")),
		unit.Bytes(own("process_resident_memory_bytes", "")/series), took)
	if series < containers*30 || took <= 0 {
		t.Errorf("%v series, %v s\n%s", series, took, p.Said())
	}
}
