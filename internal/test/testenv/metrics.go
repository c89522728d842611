package testenv

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

var (
	//go:embed testdata/metrics/main.go
	metricsMain string
	//go:embed testdata/metrics/cgo.go
	metricsCgo string
	//go:embed testdata/cycles/main.go
	cyclesMain string
	//go:embed testdata/sites/main.go
	sitesMain string
	//go:embed testdata/hungry/main.go
	hungryMain string
	//go:embed testdata/goroutines/main.go
	goroutinesMain string
	//go:embed testdata/leaks/main.go
	leaksMain string
	//go:embed testdata/leaks/cgo.go
	leaksCgo string
	//go:embed testdata/leaks/named_linux.go
	leaksNamed string
)

// LeaksSource is a program that leaks what its argument says; malloc with cgo only, named
// memory on Linux.
func LeaksSource() map[string]string {
	out := Module(leaksMain)
	out["cgo.go"], out["named_linux.go"] = leaksCgo, leaksNamed
	return out
}

// GoroutinesSource is a program with goroutines in many states, which says their stacks.
func GoroutinesSource() map[string]string { return Module(goroutinesMain) }

// CyclesSource is a program whose GC runs in a way and as often as its arguments say, and
// which then says what package runtime counted of it: see its source.
func CyclesSource() map[string]string { return Module(cyclesMain) }

// SitesSource is a program that allocates known objects and writes its own heap profile.
func SitesSource() map[string]string { return Module(sitesMain) }

// HungrySource is the source of a program for tests of memory limits. Its arguments are MiB outside
// the Go runtime, of live heap, and of garbage that it allocates once it has read a line, slowly with a
// fourth one.
func HungrySource() map[string]string { return Module(hungryMain) }

// MetricsSource is a program that has memory of many kinds, and says what package
// runtime/metrics says of it. Built with cgo it has memory of the C library, too.
func MetricsSource() map[string]string {
	out := Module(metricsMain)
	out["cgo.go"] = metricsCgo
	return out
}

// Metrics are what the program says, by the name of the metric without its unit, in bytes
// or nanoseconds.
type Metrics map[string]uint64

// Sum adds up metrics.
func (m Metrics) Sum(names ...string) (sum uint64) {
	for _, n := range names {
		sum += m[n]
	}
	return sum
}

// StartMetrics starts a program of MetricsSource or CyclesSource, and waits until it does
// nothing. ask makes it say its metrics, by which it allocates nothing.
func StartMetrics(t testing.TB, path string, args ...string) (pid int, ask func() Metrics) {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "GOGC=100", "GOMEMLIMIT=", "GODEBUG=")
	in, out := Start(t, cmd)
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	ask = func() Metrics {
		t.Helper()
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		line, err := out.ReadString('\n')
		m := Metrics{}
		for _, word := range strings.Fields(line) {
			name, value, _ := strings.Cut(word, "=")
			name, _, _ = strings.Cut(name, ":")
			var n uint64
			if _, e := fmt.Sscan(value, &n); e != nil && err == nil {
				err = e
			}
			m[name] = n
		}
		if err != nil || len(m) == 0 {
			t.Fatalf("%q: %v", line, err)
		}
		return m
	}
	for range 3 { // the first answers allocate
		ask()
	}
	return cmd.Process.Pid, ask
}

// A Way is how a program is built.
type Way struct {
	Name string
	Args []string
	Env  []string
}

// Ways are those in which programs are shipped.
var Ways = []Way{
	{"plain", nil, []string{"CGO_ENABLED=0"}},
	{"stripped", []string{"-ldflags=-s -w"}, []string{"CGO_ENABLED=0"}},
	{"stripped pie", []string{"-ldflags=-s -w", "-buildmode=pie"}, []string{"CGO_ENABLED=0"}},
	{"stripped cgo", []string{"-ldflags=-s -w"}, []string{"CGO_ENABLED=1"}},
}

// EveryProgram runs a test with the program of MetricsSource, built by toolchains of these
// releases (see Versions) in each of the Ways.
func EveryProgram(t *testing.T, releases []string, run func(t *testing.T, path string)) {
	EveryBuild(t, releases, MetricsSource(), run)
}

// EveryBuild is EveryProgram for another program.
func EveryBuild(t *testing.T, releases []string, source map[string]string, run func(t *testing.T, path string)) {
	for _, release := range Versions(t, releases) {
		for _, way := range Ways {
			t.Run(release+" "+way.Name, func(t *testing.T) {
				path, err := Build{Source: source, Args: way.Args, Env: append([]string{"GOTOOLCHAIN=" + release}, way.Env...)}.Try(t)
				if err != nil {
					Missing(t, "%v", err)
				}
				run(t, path)
			})
		}
	}
}
