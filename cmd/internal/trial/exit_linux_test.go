package trial

import (
	"regexp"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/test/testenv"
)

func TestHowAProgramEnds(t *testing.T) {
	for _, c := range []struct {
		script  string
		code    int // -1 for none
		signal  string
		failure string // part of it; "" for none
		tail    string
	}{
		{"exit 0", 0, "", "", ""},
		{"echo good", 0, "", "", "good\n"},
		{"echo out; echo bad >&2; exit 3", 3, "", "exit code 3", "bad\n"},
		{"echo out; exit 255", 255, "", "exit code 255", "out\n"},
		{"kill -KILL $$", -1, "SIGKILL", "killed by SIGKILL", ""},
		{"kill -SEGV $$", -1, "SIGSEGV", "killed by SIGSEGV", ""},
		{"kill -TERM $$", -1, "SIGTERM", "killed by SIGTERM", ""},
		{"kill -PIPE $$", -1, "SIGPIPE", "killed by SIGPIPE", ""},
		{"kill -34 $$", -1, "signal 34", "killed by signal 34", ""}, // for real time: these have numbers only
		{"kill -64 $$", -1, "signal 64", "killed by signal 64", ""},
	} {
		s := run(t, shell(c.script), Setting{})
		if code := s.ExitCode; (code == nil) != (c.code < 0) || (code != nil && *code != c.code) {
			t.Errorf("%s: exit code %v, want %d", c.script, code, c.code)
		}
		failure := strings.TrimSuffix(s.Failure, " (out of memory?)") // another process of this machine may have been
		if s.Signal != c.signal || failure != c.failure || s.Tail != c.tail {
			t.Errorf("%s: signal %q, failure %q, tail %q", c.script, s.Signal, s.Failure, s.Tail)
		}
		if s.OverMemory || s.TimedOut || s.Leftovers != 0 || s.Round != 0 || s.Sequence != 0 {
			t.Errorf("%s: %+v", c.script, s)
		}
	}
}

// What says why may stand long before the end, and in the other stream than the last words.
func TestReasonOfAProgram(t *testing.T) {
	script := "echo 'go: downloading x' >&2; echo 'panic: on standard output'; yes '\tmain.go:14 +0x13' | head -3000; exit 2"
	if s := run(t, shell(script), Setting{}); s.Reason() != "panic: on standard output" {
		t.Errorf("%q", s.Reason())
	}
}

func TestIgnoreExit(t *testing.T) {
	p := shell("exit 3")
	p.IgnoreExit = true
	if s := run(t, p, Setting{}); !s.OK() || *s.ExitCode != 3 {
		t.Errorf("failure %q, exit code %d", s.Failure, *s.ExitCode)
	}
	// A signal is not an exit code.
	p = shell("kill -KILL $$")
	p.IgnoreExit = true
	if s := run(t, p, Setting{}); s.OK() {
		t.Error("a program that was killed counts")
	}
}

func TestTimes(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	s := runOK(t, role("burn", "200"), Setting{})
	// The program looks at its own account, and stops at 200 ms or little later.
	if s.User < 0.199 { // less what it used before it was the program: microseconds
		t.Errorf("user time %v s of a program that used 0.2 s", s.User)
	}
	if s.Wall <= 0 {
		t.Errorf("wall time %v s", s.Wall)
	}
	// What children use counts, waited for or not.
	for _, script := range []string{roleLine("burn", "200") + " & wait", "(" + roleLine("burn", "200") + " &) | cat"} {
		if s := runOK(t, shell(script), Setting{}); s.User < 0.2 {
			t.Errorf("%s: user time %v s of 0.2 s", script, s.User)
		}
	}
	if s := runOK(t, shell("sleep 0.1"), Setting{}); s.Wall < 0.1 {
		t.Errorf("wall time %v s of a program that took 0.1 s", s.Wall)
	}
}

func TestMetrics(t *testing.T) {
	ops := &metric.Spec{Name: "ops", Pattern: regexp.MustCompile(`^([^ ]*) ops$`), Higher: true}
	bench := &metric.Spec{Name: metric.Bench}
	const benchOut = "BenchmarkA-2 100 250 ns/op 16 B/op\nBenchmarkB-2 100 50.0 ns/op\n"
	for _, c := range []struct {
		name, script string
		spec         *metric.Spec
		want         map[string]float64
		failure      string
	}{
		{"none", "echo 5 ops", nil, nil, ""},
		{"on stdout", "echo 5 ops; echo 1,234.5 ops; echo end", ops, map[string]float64{"ops": 1234.5}, ""},
		{"on stderr", "echo 6 ops >&2", ops, map[string]float64{"ops": 6}, ""},
		{"without a line end", "printf '7 ops'", ops, map[string]float64{"ops": 7}, ""},
		{"wall needs no output", ":", &metric.Spec{Name: metric.Wall}, nil, ""},
		{"missing", "echo 5 op/s", ops, nil, `metric ops: no line of the output matches`},
		{"no number", "echo many ops", ops, nil, `metric ops: the group matched "many", which is not a number`},
		{"benchmarks always", "printf '" + benchOut + "'", nil,
			map[string]float64{"A-2 ns/op": 250, "A-2 B/op": 16, "B-2 ns/op": 50}, ""},
		{"benchmarks asked for", "printf '" + benchOut + "' >&2", bench,
			map[string]float64{"A-2 ns/op": 250, "A-2 B/op": 16, "B-2 ns/op": 50}, ""},
		{"no benchmark", "echo ok", bench, nil, "metric ns/op: the output has no Go benchmark result"},
		{"what failed first is said", "exit 2", ops, nil, "exit code 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := shell(strings.ReplaceAll(c.script, "\n", `\n`))
			p.Metric = c.spec
			s := run(t, p, Setting{})
			if (c.failure == "") != s.OK() || !strings.HasPrefix(s.Failure, c.failure) {
				t.Errorf("failure %q, want %q", s.Failure, c.failure)
			}
			if len(s.Metrics) != len(c.want) {
				t.Errorf("metrics %v, want %v", s.Metrics, c.want)
			}
			for k, v := range c.want {
				if s.Metrics[k] != v {
					t.Errorf("%s is %v, want %v", k, s.Metrics[k], v)
				}
			}
		})
	}
}
