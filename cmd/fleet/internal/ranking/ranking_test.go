package ranking

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/prom"
)

// server answers with vectors by what a query has in it: name of a workload, source, value.
func server(t *testing.T, answers map[string][]string) *prom.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, found := r.FormValue("query"), ""
		for part, samples := range answers {
			if strings.Contains(query, part) {
				found = strings.Join(samples, ",")
			}
		}
		if strings.Contains(query, "folio:rules:info") {
			found = fmt.Sprintf(`{"metric":{"version":"1","interval":"120"},"value":[%d,"720"]}`, time.Now().Unix())
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, found)
	}))
	t.Cleanup(s.Close)
	c, err := prom.New(prom.Options{URL: s.URL, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func sample(workload, source string, v float64, more ...string) string {
	return fmt.Sprintf(`{"metric":{"namespace":"n","workload":%q,"workload_kind":"Deployment","container":"c","source":%q%s},"value":[1,"%g"]}`, workload, source, strings.Join(more, ""), v)
}

func ask(t *testing.T, o Options) *Ranking {
	t.Helper()
	c := server(t, map[string][]string{
		"count_over_time(workload:folio_pods:count": {sample("a", "agent", 720), sample("b", "application", 360), sample("c", "cadvisor", 720)},
		"source) (workload:folio_pods:count":        {sample("a", "agent", 8), sample("a", "cadvisor", 10), sample("b", "application", 2)},
		"sum_over_time(workload:folio_cpu_cores":    {sample("a", "agent", 7200), sample("a", "cadvisor", 9999), sample("b", "application", 720), sample("c", "cadvisor", math.Inf(1))},
		"folio_memory_tax_cores:total":              {sample("a", "agent", 1440), sample("b", "application", 360)},
		"folio_unused_memory":                       {sample("a", "kube", 2<<30), sample("b", "kube", 8<<30)},
		"folio_heap_bloat":                          {sample("a", "agent", 720<<30)},
		"folio_unread":                              {sample("a", "agent", 3)},
		"folio_memory_tax_cores:sum":                {sample("a", "agent", 1000, `,"class":"gc_mark"`), sample("a", "application", 9, `,"class":"gc"`), sample("b", "application", 360, `,"class":"gc"`)},
	})
	r, err := Ask(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// By hand: a loses 2 of 10 cores, and 2 + 1 GiB; b half a core of 1, in half of the window,
// and 8 GiB for half of it.
func TestByHand(t *testing.T) {
	r := ask(t, Options{Window: 24 * time.Hour, Prices: Prices{CoreHour: 1, GiBHour: .5}, By: ByMoney})
	if len(r.Workloads) != 3 || r.Queries != 9 {
		t.Fatalf("%+v", r)
	}
	a, b, c := r.Workloads[0], r.Workloads[1], r.Workloads[2]
	if b.Workload == "a" {
		a, b = b, a
	}
	if a.Pods != 8 || *a.CPU != 10 || *a.Tax != 2 || *a.TaxShare != .2 || *a.LostBytes != 3<<30 || *a.Money != (2+1.5)*730 || a.Classes["gc_mark"] != 1000./720 || len(a.Classes) != 1 {
		t.Errorf("%+v", a)
	}
	if *b.CPU != 1 || *b.Tax != .5 || *b.LostBytes != 4<<30 || *b.Money != (.5+2)*730 || b.Classes["gc"] != .5 {
		t.Errorf("%+v", b)
	}
	if c.Workload != "c" || c.Tax != nil || c.Money != nil || c.CPU != nil {
		t.Errorf("%+v", c)
	}
	for row, want := range map[*Row][]string{
		&a: {"the agent sees 80.0% of its pods", "the heap of 3 of its processes"},
		&b: {"GC only", "figures for 50.0% of the window"},
		&c: {"CPU time of memory is not known", "no memory request"},
	} {
		for _, w := range want {
			if !strings.Contains(strings.Join(row.Partial, "\n"), w) {
				t.Errorf("%s: %q lacks %q", row.Workload, row.Partial, w)
			}
		}
	}
	if total := r.Total; total.Workloads != 3 || total.Tax != 2.5 || total.CPU != 11 || total.LostBytes != 7<<30 {
		t.Errorf("%+v", total)
	}
}

func TestOrder(t *testing.T) {
	for by, want := range map[By]string{ByMoney: "a", ByCores: "a", ByGiB: "b"} {
		r := ask(t, Options{Window: 24 * time.Hour, Prices: Prices{CoreHour: 1, GiBHour: .1}, By: by, Limit: 1})
		if len(r.Workloads) != 1 || r.Left != 2 || r.Workloads[0].Workload != want {
			t.Errorf("%s: %+v", by, r.Workloads)
		}
		var text strings.Builder
		if err := r.Text(&text); err != nil || !strings.Contains(text.String(), "2 workloads more: --limit 0") || !strings.Contains(text.String(), "3 workloads lose 2.5 cores of 11.0 cores") {
			t.Errorf("%v\n%s", err, text.String())
		}
	}
}
