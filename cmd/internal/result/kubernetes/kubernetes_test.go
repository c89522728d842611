package kubernetes

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

func target(t *testing.T, s string) Target {
	t.Helper()
	out, err := ParseTarget(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestParseTarget(t *testing.T) {
	for s, want := range map[string][3]string{
		"checkout":                        {"Deployment", "checkout", "checkout"},
		"checkout:server":                 {"Deployment", "checkout", "server"},
		"sts/db-0.eu:db":                  {"StatefulSet", "db-0.eu", "db"},
		"DaemonSet/agent":                 {"DaemonSet", "agent", "agent"},
		"cj/nightly:1":                    {"CronJob", "nightly", "1"},
		strings.Repeat("a.", 126) + "b:c": {"Deployment", strings.Repeat("a.", 126) + "b", "c"},
	} {
		got := target(t, s)
		if (got.Kind.Name != want[0]) || got.Name != want[1] || got.Container != want[2] {
			t.Errorf("%q: %+v", s, got)
		}
	}
	for _, s := range []string{"", ":", "a:", ":a", "/a", "job/a", "a/b/c", "deploy/", "A", "a_b", "-a", "a-", "a..b", "a\nb", "a b", "a:b.c", "a:b:c",
		"ä", strings.Repeat("a.", 127) + "b:c", "a:" + strings.Repeat("b", 64), strings.Repeat("a", 64)} {
		if got, err := ParseTarget(s); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
}

// What Kubernetes does not let anybody change is said to be so, with what to name instead.
func TestUnchangeable(t *testing.T) {
	for _, s := range []string{"job/nightly-29", "Pod/web-0:app", "replicaset/web-5d5f8c7b9"} {
		if got, err := ParseTarget(s); err == nil || !strings.Contains(err.Error(), "cannot be changed: name the object that makes it") {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
}

// An init container is patched as one, or Kubernetes would get a container without an image.
func TestInitContainer(t *testing.T) {
	p := Patch{Env: []Variable{{Name: "GOGC", Value: "200"}}}
	for init, want := range map[bool]string{true: "      initContainers:\n        - name: proxy\n", false: "      containers:\n        - name: proxy\n"} {
		to := target(t, "web:proxy")
		to.Init = init
		if text, err := p.YAML(to); err != nil || !strings.Contains(text, want) {
			t.Errorf("init %v: %v\n%s", init, err, text)
		}
	}
}

func TestQuantities(t *testing.T) {
	for n, want := range map[uint64]string{512 << 20: "512Mi", 1 << 30: "1Gi", 1536 << 20: "1536Mi", 1000: `"1000"`, 1025: `"1025"`, 4096: "4Ki", 1 << 60: "1Ei"} {
		if got := Memory(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{1500: "1500m", 2000: `"2"`, 10: "10m", 1: "1m"} {
		if got := CPU(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	// Quotas as they are typed are that many thousandths, whatever a float makes of them.
	for n := int64(1); n < 20_000; n++ {
		cpus, err := strconv.ParseFloat(strconv.FormatInt(n, 10)+"e-3", 64)
		if err != nil || milli(cpus) != n {
			t.Fatalf("%v CPUs are %d thousandths, want %d (%v)", cpus, milli(cpus), n, err)
		}
	}
}

// searched returns a result of tune whose recommended setting has runs with these peaks.
func searched(change func(*result.File), peaks ...uint64) *result.File {
	memory, cpus := uint64(512<<20), 1.5
	gogc, most := "300", uint64(460<<20)
	f := &result.File{}
	f.Created = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	f.Program.Command = []string{"./server", "-addr", ":8080"}
	f.Program.Limits = &result.Limits{Memory: &memory, CPUs: &cpus}
	f.Answer = &tune.Answer{State: tune.Conclusive}
	f.Arms = []result.Arm{
		{Name: "default", Setting: result.Setting{THP: "system"}},
		{Name: "GOGC=300 GOMEMLIMIT=460MiB", Setting: result.Setting{GOGC: &gogc, MemLimit: &most, THP: "system"}},
	}
	for i, peak := range peaks {
		rss := peak - 8<<20
		f.Arms[1].Samples = append(f.Arms[1].Samples, &trial.Sample{Round: i + 1, Wall: 10, CPU: 4 + float64(i), PeakRSS: &rss,
			Processes: 1, Counts: &trial.Counts{CgroupPeak: &peak}, Load: &load.Result{}})
	}
	f.Recommendations = []result.Recommendation{{Goal: result.GoalFastest, Arm: "GOGC=300 GOMEMLIMIT=460MiB"}}
	if change != nil {
		change(f)
	}
	return f
}

func patchOf(t *testing.T, f *result.File) string {
	t.Helper()
	p, err := OfTune(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.YAML(target(t, "checkout:server"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOfTune(t *testing.T) {
	const mib = 1 << 20
	got := patchOf(t, searched(nil, 300*mib, 310*mib))
	want := `# What folio tune recommends for ./server -addr :8080, measured 2026-11-23: GOGC=300 GOMEMLIMIT=460MiB
# kubectl patch deployment/checkout --patch-file FILE, or in a kustomization: patches: [{path: FILE}]
apiVersion: apps/v1
kind: Deployment
metadata:
  name: checkout
spec:
  template:
    spec:
      containers:
        - name: server
          env:
            - name: GOGC
              value: "300"
              valueFrom: null
            - name: GOMEMLIMIT
              value: "460MiB"
              valueFrom: null
          resources:
            requests:
              # 310.0MiB: the largest peak of the cgroup, page cache and kernel memory included, of 2 runs, and 10%
              memory: 341Mi
              # the most that a run took under this load, of 2 runs
              cpu: 500m
            limits:
              # as measured: --cgroup-memory
              memory: 512Mi
              # as measured: --cgroup-cpus
              cpu: 1500m
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name, c := range map[string]struct {
		change    func(*result.File)
		has, lack []string
	}{
		"a heap that grows up to its limit": {func(f *result.File) { f.Arms[1].Setting.GOGC = new("off") },
			[]string{"memory: 460Mi", "# GOMEMLIMIT: with GOGC=off"}, []string{"341Mi"}},
		"page cache of another cgroup": {func(f *result.File) { *f.Arms[1].Samples[0].PeakRSS = 320 * mib },
			[]string{"memory: 352Mi", "320.0MiB: the largest peak RSS, of 2 runs"}, nil},
		"a run near the limit": {func(f *result.File) { *f.Arms[1].Samples[0].CgroupPeak = 470 * mib },
			[]string{"memory: 512Mi"}, []string{"517Mi"}},
		"no limit of the setting": {func(f *result.File) { f.Arms[1].Setting.MemLimit = nil }, []string{`value: "300"`}, []string{"- name: GOMEMLIMIT"}},
		"other variables": {func(f *result.File) { f.Arms[1].Setting.Env = []string{"X=$(Y) \"a\\b\"\n- z"} },
			[]string{`value: "$$(Y) \"a\\b\"\n- z"`}, []string{"\n- z"}},
		"the default": {func(f *result.File) { f.Recommendations[0].Arm, f.Arms[0].Samples = "default", f.Arms[1].Samples },
			[]string{"# It is the default", "memory: 341Mi"}, []string{"env:"}},
		"inconclusive":                {func(f *result.File) { f.Answer.State = result.AnswerInconclusive }, []string{"# Inconclusive: a longer search may"}, nil},
		"no load of folio":            {func(f *result.File) { f.Arms[1].Samples[0].Load, f.Arms[1].Samples[1].Load = nil, nil }, []string{"cpu: 1500m"}, []string{"under this load"}},
		"a run that the kernel ended": {func(f *result.File) { f.Arms[1].Samples[1].Failure = "killed" }, []string{"330Mi", "of 1 run,"}, nil},
		"no count of the cgroup": {func(f *result.File) { f.Arms[1].Samples[0].Counts = nil },
			[]string{"302.0MiB: the largest peak RSS, of 2 runs"}, []string{"page cache"}},
		"no limits": {func(f *result.File) { f.Program.Limits = nil }, []string{"resources are left as they are", `value: "300"`}, []string{"limits:"}},
		"CPUs only": {func(f *result.File) { f.Program.Limits.Memory = nil }, []string{"cpu: 1500m"}, []string{"memory:"}},
		"huge pages": {func(f *result.File) {
			f.Arms[1].Setting.THP = "heap"
			f.Recommendations[0].Permanent = []string{"to keep it:\n- evil: 1"}
		},
			[]string{"# thp=heap is not a variable, and not in this patch:\n#   folio exec --thp heap --gogc 300 --memlimit 460MiB -- PROGRAM\n", `#   to keep it:\n- evil: 1`}, nil},
		"huge pages, and their line": {func(f *result.File) {
			f.Arms[1].Setting.THP = "heap"
			f.Recommendations[0].ShellLine = "folio exec --thp heap -- ./server"
			f.Recommendations[0].Permanent = []string{"to keep it, one of these:", "the line above as ENTRYPOINT"}
		},
			[]string{"in this patch:\n#   folio exec --thp heap -- ./server\n#   to keep it, one of these:\n#   the line above as ENTRYPOINT\n"}, nil},
		"a hostile command":         {func(f *result.File) { f.Program.Command = []string{"a\nkind: Secret\x1b"} }, nil, []string{"\nkind: Secret", "\x1b"}},
		"default and nothing known": {func(f *result.File) { f.Recommendations[0].Arm = "default"; f.Program.Limits = nil }, []string{"# nothing is to be changed"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := patchOf(t, searched(c.change, 300*mib, 310*mib))
			for _, s := range c.has {
				if !strings.Contains(got, s) {
					t.Errorf("%q is not in\n%s", s, got)
				}
			}
			for _, s := range c.lack {
				if strings.Contains(got, s) {
					t.Errorf("%q is in\n%s", s, got)
				}
			}
		})
	}
	for name, change := range map[string]func(*result.File){
		"no answer":         func(f *result.File) { f.Answer = nil },
		"too little":        func(f *result.File) { f.Answer.State = result.AnswerTooLittle },
		"unknown setting":   func(f *result.File) { f.Recommendations[0].Arm = "GOGC=1" },
		"no recommendation": func(f *result.File) { f.Recommendations = nil },
	} {
		if p, err := OfTune(searched(change, 300*mib)); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for _, env := range []string{"A B=1", "=1", "1A=1", "A=\xff", "A=\x00"} {
		p, err := OfTune(searched(func(f *result.File) { f.Arms[1].Setting.Env = []string{env} }, 300*mib))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := p.YAML(target(t, "a")); err == nil {
			t.Errorf("%q is in\n%s", env, text)
		}
	}
}

// A load that ends before the heap is full does not lower the request.
func TestRequestOfAGrowingHeap(t *testing.T) {
	const mib = 1 << 20
	run := func(cycles int, peak, heap, live uint64) *trial.Sample {
		s := &trial.Sample{Round: 1, Wall: 10, CPU: 1, Processes: 1, PeakRSS: new(peak * mib), GCCounted: trial.GCComplete, GCCycles: &cycles,
			Growing: cycles < 2, Load: &load.Result{}}
		if live > 0 {
			s.LivePeak = new(live * mib)
		}
		if heap > 0 {
			s.HeapPeak = new(heap * mib)
		}
		return s
	}
	for name, c := range map[string]struct {
		gogc  string
		limit uint64
		def   []*trial.Sample
		best  []*trial.Sample
		has   []string
	}{
		"no cycle, and little is live": {"400", 460, []*trial.Sample{run(5, 100, 88, 45)}, []*trial.Sample{run(0, 63, 0, 45)},
			[]string{"memory: 237Mi", "# the heap grows to 225.0MiB at this GOGC: 45.00MiB are live, and 12.00MiB beside it; the load ended before a second GC cycle did"}},
		"no cycle, up to the limit": {"400", 460, []*trial.Sample{run(5, 330, 314, 157)}, []*trial.Sample{run(0, 335, 0, 150), run(1, 334, 320, 157)},
			[]string{"memory: 476Mi", "# GOMEMLIMIT: the heap grows up to it, and 16.00MiB beside it; the load ended before"}},
		"never more than the limit of the container": {"400", 510, []*trial.Sample{run(5, 330, 314, 157)}, []*trial.Sample{run(0, 335, 0, 0)},
			[]string{"memory: 512Mi"}},
		"all arms grow": {"400", 460, []*trial.Sample{run(0, 54, 0, 45)}, []*trial.Sample{run(0, 63, 0, 45)},
			[]string{"memory: 234Mi", "45.00MiB are live, and 9.000MiB beside it"}},
		"nothing is known of the heap": {"400", 460, []*trial.Sample{run(0, 54, 0, 0)}, []*trial.Sample{run(0, 63, 0, 0)},
			[]string{"memory: 460Mi", "# GOMEMLIMIT: the heap grows up to it; the load ended before"}},
		"nor is there a limit": {"400", 0, []*trial.Sample{run(0, 54, 0, 0)}, []*trial.Sample{run(0, 63, 0, 0)},
			[]string{"memory: 70Mi", "and 10%; at least: it was still growing when the load ended"}},
		"the least heap of a GOGC": {"3200", 0, []*trial.Sample{run(9, 10, 4, 1)}, []*trial.Sample{run(0, 12, 0, 1)},
			[]string{"memory: 134Mi", "# the heap grows to 128.0MiB at this GOGC"}},
		"enough cycles": {"400", 460, []*trial.Sample{run(5, 100, 88, 45)}, []*trial.Sample{run(2, 240, 226, 45)},
			[]string{"memory: 264Mi", "# 240.0MiB: the largest peak RSS"}},
		"off": {"off", 460, []*trial.Sample{run(5, 100, 88, 45)}, []*trial.Sample{run(0, 300, 0, 45)},
			[]string{"memory: 472Mi", "# GOMEMLIMIT: with GOGC=off the heap grows up to it, and 12.00MiB beside it"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := patchOf(t, searched(func(f *result.File) {
				f.Program.Ready = "http://127.0.0.1:8080/"
				f.Arms[0].Samples, f.Arms[1].Samples = c.def, c.best
				f.Arms[1].Setting.GOGC, f.Arms[1].Setting.MemLimit = &c.gogc, new(c.limit*mib)
				if c.limit == 0 {
					f.Arms[1].Setting.MemLimit = nil
				}
			}))
			for _, s := range c.has {
				if !strings.Contains(got, s) {
					t.Errorf("%q is not in\n%s", s, got)
				}
			}
		})
	}
	// What an arm does not set is of the environment.
	for env, want := range map[string]string{
		"GOGC=400 GOMEMLIMIT=460MiB": "memory: 237Mi",
		"GOGC=900 GOMEMLIMIT=300MiB": "memory: 312Mi",
		"GOGC=400 GOMEMLIMIT=off":    "memory: 237Mi",
		"GOGC=-1 GOMEMLIMIT=300MiB":  "memory: 312Mi",
		"GOMEMLIMIT=300MiB":          "memory: 102Mi",
	} {
		got := patchOf(t, searched(func(f *result.File) {
			f.Program.Ready, f.Program.Environment = "http://127.0.0.1:8080/", strings.Fields(env)
			f.Arms[0].Samples = []*trial.Sample{run(0, 63, 0, 45), run(5, 75, 63, 45)}
			f.Recommendations[0].Arm = "default"
		}))
		if !strings.Contains(got, want) || !strings.Contains(got, "# It was measured with "+env+" in the environment, which is not in this patch.") {
			t.Errorf("%s: no %s in\n%s", env, want, got)
		}
	}
	// A program that ends by itself takes what it took.
	got := patchOf(t, searched(func(f *result.File) { f.Arms[1].Samples = []*trial.Sample{run(0, 63, 0, 45)} }))
	if !strings.Contains(got, "memory: 70Mi") {
		t.Errorf("a program that ends by itself:\n%s", got)
	}
}

func TestValues(t *testing.T) {
	p := Patch{Comments: []string{"a\nb: c"}, Env: []Variable{{"GOGC", "300", "why\nx: y"}}, Limits: Resources{Memory: 512 << 20}}
	got, err := p.Values("api", "no")
	want := `# a\nb: c
# helm upgrade RELEASE CHART --reuse-values -f FILE; a list of env replaces that of the chart: keep what it has
api:
  "no":
    env:
      # why\nx: y
      - name: GOGC
        value: "300"
    resources:
      limits:
        memory: 512Mi
`
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	if got, err := (Patch{}).Values("x"); err != nil || strings.Contains(got, "x:") {
		t.Errorf("nothing: %v\n%s", err, got)
	}
	if _, err := (Patch{Env: []Variable{{Name: "A B"}}}).Values(); err == nil {
		t.Error("A B is a variable")
	}
}

// expanded is what Kubernetes makes of the value of a variable, where there is no reference
// to another.
func expanded(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '$' && i+1 < len(s) {
			if i++; s[i] == '(' {
				return "a reference in " + s
			}
			if s[i] != '$' {
				out = append(out, '$')
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// FuzzYAML: whatever is put into a patch, its lines are those that belong there, and
// values come back as they were.
func FuzzYAML(f *testing.F) {
	f.Add("GOGC", "300", "comment", "deploy/checkout:server")
	f.Add("A", "$(B)\n  - name: x", "x\ny: z", "cj/true:no")
	f.Add("null", "\u2028\u0085\ufeff\"", "\u2028# ", "null:1e3")
	f.Fuzz(func(t *testing.T, name, value, comment, to string) {
		where, err := ParseTarget(to)
		if err != nil {
			return
		}
		p := Patch{Comments: []string{comment}, Env: []Variable{{name, value, comment}}}
		text, err := p.YAML(where)
		if err != nil {
			return
		}
		var lines []string
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
			for _, r := range line {
				if r < ' ' || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
					t.Fatalf("%U in %q", r, line)
				}
			}
		}
		want := []string{"apiVersion: " + where.Kind.APIVersion, "kind: " + where.Kind.Name, "metadata:", "name: " + where.Name}
		for _, key := range where.Kind.path {
			want = append(want, key+":")
		}
		want = append(want, "containers:", "- name: "+where.Container, "env:", "- name: "+name, "value: "+value, "valueFrom: null")
		if len(lines) != len(want) {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), text)
		}
		for i, line := range lines {
			key, got, ok := strings.Cut(line, ": ")
			if strings.HasPrefix(got, `"`) {
				if got, err = strconv.Unquote(got); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
			}
			if key == "value" {
				got = expanded(got)
			}
			if ok && key+": "+got != want[i] || !ok && line != want[i] {
				t.Fatalf("line %q, want %q", line, want[i])
			}
		}
	})
}

// A patch never has a value that a Go program does not read as it is meant: neither as Kubernetes
// writes it nor otherwise.
func TestValuesThatGoReads(t *testing.T) {
	target, err := ParseTarget("checkout")
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]Variable{
		"write GOMEMLIMIT=966MiB": {Name: "GOMEMLIMIT", Value: "966Mi"},
		"write GOGC=200":          {Name: "GOGC", Value: "200%"},
		"ignores this value":      {Name: "GODEBUG", Value: "gctrace=on"},
		"":                        {Name: "GODEBUG", Value: "ofanewergo=1"},
	} {
		p := Patch{Env: []Variable{v}, Limits: Resources{Memory: 966 * mib}}
		for _, make := range []func() (string, error){func() (string, error) { return p.YAML(target) }, func() (string, error) { return p.Values() }} {
			text, err := make()
			if (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("%v: %v\n%s", v, err, text)
			}
		}
	}
	// Units of the two differ.
	p := Patch{Limits: Resources{Memory: 966 * mib}}
	p.Set(trial.Setting{GOGC: "200", MemLimit: 966 * mib})
	text, err := p.YAML(target)
	if err != nil || !strings.Contains(text, `value: "966MiB"`) || !strings.Contains(text, "memory: 966Mi\n") {
		t.Errorf("%v\n%s", err, text)
	}
}
