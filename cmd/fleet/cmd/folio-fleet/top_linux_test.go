package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/fleet/internal/ranking"
	"github.com/foliomem/folio/cmd/fleet/internal/test/promtest"
	"github.com/foliomem/folio/internal/test/testenv"
)

// How long top takes on a day of 20,000 pods (2,000 workloads), backfilled: the figure of
// docs/fleet.md. FOLIO_TEST_FULL=1 go test -run TestTopOfMany -v ./cmd/folio-fleet
func TestTopOfMany(t *testing.T) {
	testenv.FullOnly(t)
	const workloads, pods, each = 2000, 10, 2 * time.Minute
	s := promtest.New(t)
	var names []string
	for i := range workloads {
		id := fmt.Sprintf(`namespace="team-%03d",workload="service-%04d",workload_kind="Deployment",container="server",source="agent"`, i%100, i)
		for _, n := range []string{"pods:count", "cpu_cores:sum", "memory_tax_cores:total", "heap_bloat_bytes:sum", "unread_processes:sum", "unused_memory_bytes:sum"} {
			names = append(names, "workload:folio_"+n+"{"+id+"}")
		}
		for _, class := range metrics.MemoryClasses {
			names = append(names, `workload:folio_memory_tax_cores:sum{`+id+`,class="`+class+`"}`)
		}
	}
	names = append(names, `folio:rules:info{version="1",interval="120"}`)
	// Until now: the last block is a part of one.
	now := time.Now()
	began := time.Now()
	for start := now.Add(-24 * time.Hour).Truncate(promtest.Block); start.Before(now); start = start.Add(promtest.Block) {
		var b bytes.Buffer
		for i, name := range names {
			v := float64(pods)
			if !strings.Contains(name, "pods") {
				v = float64(i%97) * 1.5
			}
			for at := start; at.Before(start.Add(promtest.Block)) && at.Before(now); at = at.Add(each) {
				b.WriteString(promtest.Sample(name, v+float64(at.Unix()%11), at))
			}
		}
		s.Backfill(t, b.Bytes())
	}
	s.Start(t, "global: {}\n")
	t.Logf("%d series backfilled in %v", len(names), time.Since(began).Round(time.Second))
	for range 5 {
		asked := time.Now()
		out := ok(t, "top", "--prometheus", s.URL, "--json")
		took := time.Since(asked)
		var r ranking.Ranking
		if err := json.Unmarshal([]byte(out), &r); err != nil || r.Total.Workloads != workloads || len(r.Workloads) != 20 || len(r.Workloads[0].Classes) != len(metrics.MemoryClasses) {
			t.Fatalf("%+v, %v", r.Total, err)
		}
		t.Logf("top of %d pods, %d queries: %v", workloads*pods, r.Queries, took.Round(time.Millisecond))
	}
}
