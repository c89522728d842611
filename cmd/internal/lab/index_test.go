package lab

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// What each arm is built with, and runs under, whatever the user's environment says.
func TestIndexArms(t *testing.T) {
	m := machine("")
	all := "heap-hugepages"
	if idle("malloc-prefetch") == "" {
		all += "+malloc-prefetch"
	}
	const plain = "GOMEMLIMIT= FOLIO= FOLIO_HUGEPAGES="
	for name, want := range map[string]string{
		"stock":           "stock: " + plain + " GOGC=",
		"malloc-prefetch": "malloc-prefetch: " + plain + " GOGC=",
		"hugepages-off":   "heap-hugepages: " + plain + " GOGC= FOLIO_HUGEPAGES=off",
		"heap-hugepages":  "heap-hugepages: " + plain + " GOGC=",
		"auto":            "auto: " + plain + " GOGC=",
		"gogc-200":        "stock: 200 " + plain,
		"gogc-300":        "stock: 300 " + plain,
		"gogc-400":        "stock: 400 " + plain,
		"all-gogc-200":    all + ": 200 " + plain,
		"all-gogc-300":    all + ": 300 " + plain,
		"all-gogc-400":    all + ": 400 " + plain,
		"all-auto":        all + "+auto: " + plain + " GOGC=",
	} {
		a := find(t, index, m, name)
		s := setting(a)
		got := strings.Join(strings.Fields(a.Task.How+": "+s.GOGC+" "+strings.Join(s.Env, " ")), " ")
		if got != want || s.MemLimit != 0 {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if n := len(index.Arms(m, index.defaults)); n != 12 {
		t.Errorf("%d arms", n)
	}
}

func TestWorkloadBuild(t *testing.T) {
	for how, want := range map[string]string{
		"stock": "[] false", "auto": "[] true", "heap-hugepages": "[heap-hugepages] false",
		"heap-hugepages+malloc-prefetch+auto": "[heap-hugepages malloc-prefetch] true",
	} {
		if b := newWorkloadBuild(how, "/x"); fmt.Sprint(b.patches, b.auto) != want || b.dir != "/x/"+how {
			t.Errorf("%s: %+v, want %s", how, b, want)
		}
	}
	for user, want := range map[string]string{"": "local", "auto": "local", "path": "local", "go1.25.5": "go1.25.5",
		"go1.25.5+auto": "go1.25.5", "local": "local"} {
		if got := fixedToolchain(user); got != want {
			t.Errorf("GOTOOLCHAIN=%s: %s, want %s", user, got, want)
		}
	}
}

func TestHead(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\n\n": "",
		"go: downloading a v1\n# x/y\nx.go:1: bad\nx.go:2: worse\n": "x.go:1: bad",
		"go: cannot find main module\n":                             "go: cannot find main module",
		strings.Repeat("x", 301):                                    strings.Repeat("x", 300) + "...",
	} {
		h := new(head)
		for _, c := range []byte(text) {
			if n, err := h.Write([]byte{c}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := h.line(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	h := new(head)
	if n, err := h.Write(make([]byte, 1<<20)); n != 1<<20 || err != nil || len(h.text) != 16<<10 {
		t.Errorf("%d, %v, kept %d", n, err, len(h.text))
	}
}

// outcome is an outcome of an experiment with the same figures in each of some
// rounds, but for a thousandth of the first one.
func outcome(e *Experiment, rounds int, arms map[string]map[string]float64) *Outcome {
	o := &Outcome{Experiment: e, Params: e.defaults, Rounds: rounds}
	for _, a := range e.Arms(machine(""), e.defaults) {
		r := &ArmResult{Arm: a}
		for i := range rounds {
			m := make(map[string]float64)
			for k, v := range arms[a.Name] {
				if k == e.Figures[0].Key {
					v *= 1 + float64(i)/1000
				}
				m[fmt.Sprintf("%s/size=%d %s", benchmark(e.Name), e.defaults.Size, k)] = v
			}
			if len(m) > 0 {
				r.Samples = append(r.Samples, &trial.Sample{Metrics: m})
			}
		}
		o.Arms = append(o.Arms, r)
	}
	return o
}

func TestIndexMeaning(t *testing.T) {
	row := func(seconds, faults, mib, gc, huge float64) map[string]float64 {
		return map[string]float64{opKey: seconds, "documents_per_second": 1000 / seconds, "faults": faults,
			"peak_rss_bytes": mib * (1 << 20), runtimeGC.Key: gc, "huge_fraction": huge}
	}
	for _, tt := range []struct {
		name   string
		rounds int
		arms   map[string]map[string]float64
		want   []string
	}{
		{"all", 6, map[string]map[string]float64{
			"stock": row(10, 100e3, 400, 0.25, 0), "hugepages-off": row(10, 101e3, 400, 0.25, 0),
			"heap-hugepages": row(8, 5e3, 404, 0.25, 0.9), "auto": row(6, 300e3, 1200, 0.02, 0.5),
			"gogc-200": row(9, 130e3, 600, 0.1, 0), "gogc-300": row(8, 150e3, 700, 0.1, 0), "gogc-400": row(7, 200e3, 804, 0.1, 0),
			"all-gogc-200": row(6, 5e3, 600, 0.1, 0.9), "all-gogc-300": row(5, 5e3, 800, 0.1, 0.9),
			"all-gogc-400": row(4, 5e3, 801, 0.1, 0.9), "all-auto": row(4, 5e3, 1600, 0.1, 0.9),
		}, []string{
			"Stock takes in 100 documents/s, with a peak of 400.0MiB.",
			"heap-hugepages: 1.25x the documents/s, with 5.0% of its page faults and 101.0% of its peak RSS.",
			"auto: 1.67x the documents/s, with 300.0% of its page faults and 300.0% of its peak RSS.",
			"GOGC alone, the best value within 2 times the memory being 300: 1.25x the documents/s, with 150.0% of its page faults and 175.0% of its peak RSS.",
			"All together, with no change to the program, the best value within 2 times the memory being 300: 2.00x the documents/s, with 5.0% of its page faults and 200.0% of its peak RSS.",
			"The patches and package auto, which chooses GOGC itself: 2.50x the documents/s, with 5.0% of its page faults and 400.0% of its peak RSS.",
			"Patched, but turned off, it takes 100.0% of stock's time and has 101.0% of its page faults: no difference that these rounds show (p=1.000).",
		}},
		{"two rounds", 2, map[string]map[string]float64{"stock": row(10, 100, 400, 0.25, 0.5)}, []string{
			"Inconclusive: 2 runs per arm. Conclusions take 3, differences between two arms 4 (--rounds).",
		}},
		{"three rounds, huge pages for all", 3, map[string]map[string]float64{
			"stock": row(10, 100, 400, 0.25, 0.5), "hugepages-off": row(11, 100, 400, 0.25, 0),
			"malloc-prefetch": row(9, 100, 400, 0.25, 0), "gogc-200": row(9, 100, 900, 0.1, 0),
		}, []string{
			"Stock takes in 100 documents/s, with a peak of 400.0MiB.",
			"Stock has 50.0% of its memory on huge pages here, which the system gives to all: there is less to gain.",
			"GOGC alone: every value that was tried takes more than 2 times the memory of stock.",
			"Patched, but turned off, it takes 110.0% of stock's time and has 100.0% of its page faults: too few rounds to tell a difference.",
			"Undecided by 3 runs per arm: malloc-prefetch against stock (1.11x).",
		}},
		{"a difference", 6, map[string]map[string]float64{"stock": row(10, 100, 400, 0.25, 0),
			"hugepages-off": row(11, 100, 400, 0.25, 0)}, []string{
			"Stock takes in 100 documents/s, with a peak of 400.0MiB.",
			"Patched, but turned off, it takes 110.0% of stock's time and has 100.0% of its page faults: a difference (p=0.002).",
		}},
		{"no stock", 6, map[string]map[string]float64{"auto": row(10, 100, 400, 0.25, 0)}, nil},
		{"nothing", 0, nil, nil},
	} {
		got := outcome(index, tt.rounds, tt.arms).Conclusions()
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, strings.Join(got, "\n     "), strings.Join(tt.want, "\n     "))
		}
	}
}

// What builds programs runs only when it is named.
func TestDefault(t *testing.T) {
	var apart []string
	for _, e := range Experiments() {
		if !slices.Contains(Default(), e) {
			apart = append(apart, e.Name)
		}
	}
	if strings.Join(apart, " ") != "index malloc assist" {
		t.Errorf("apart: %q", apart)
	}
	for _, e := range Experiments() {
		if (e.Base == "") != (!e.Apart) || e.Across && e.Base == "" {
			t.Errorf("%s: %+v", e.Name, e)
		}
		if e.Base != "" && find(t, e, machine(""), e.Base) == nil {
			t.Errorf("%s has no arm %s", e.Name, e.Base)
		}
	}
}
