package gosetting

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goversion"
	"github.com/foliomem/folio/internal/test/testenv"
)

func TestCheck(t *testing.T) {
	const (
		dies    = "a Go program ends at its start with this value; "
		hundred = "Go ignores this value and uses 100; "
		ignores = "a Go program ignores this value; "
		size    = "want a whole number with B, KiB, MiB, GiB or TiB, such as GOMEMLIMIT=512MiB, or off"
	)
	for kv, want := range map[string]string{
		"GOMEMLIMIT=1024Mi":   dies + "write GOMEMLIMIT=1024MiB",
		"GOMEMLIMIT=966Mi":    dies + "write GOMEMLIMIT=966MiB",
		"GOMEMLIMIT=1G":       dies + "write GOMEMLIMIT=1GiB, or GOMEMLIMIT=1000000000B",
		"GOMEMLIMIT=512MB":    dies + "write GOMEMLIMIT=512MiB, or GOMEMLIMIT=512000000B",
		"GOMEMLIMIT=1.5GiB":   dies + "write GOMEMLIMIT=1536MiB",
		"GOMEMLIMIT=512 MiB":  dies + "write GOMEMLIMIT=512MiB",
		"GOMEMLIMIT= 512MiB":  dies + "write GOMEMLIMIT=512MiB",
		"GOMEMLIMIT=512mib":   dies + "write GOMEMLIMIT=512MiB",
		"GOMEMLIMIT=OFF":      dies + "write GOMEMLIMIT=off",
		"GOMEMLIMIT=0x1000":   dies + size,
		"GOMEMLIMIT=1e9":      dies + size,
		"GOMEMLIMIT=90%":      dies + size,
		"GOMEMLIMIT=-1":       dies + size,
		"GOMEMLIMIT=9999PiB":  dies + size,
		"GOGC=200%":           hundred + "write GOGC=200",
		"GOGC= 200":           hundred + "write GOGC=200",
		"GOGC=1e2":            hundred + "write GOGC=100",
		"GOGC=200.0":          hundred + "write GOGC=200",
		"GOGC=Off":            hundred + "write GOGC=off",
		"GOGC=2x":             hundred + "want a whole percentage such as GOGC=200, or off",
		"GOGC=4294967296":     hundred + "want a whole percentage such as GOGC=200, or off",
		"GOMAXPROCS=2.0":      ignores + "write GOMAXPROCS=2",
		"GOMAXPROCS=1.5":      ignores + "want a whole number such as GOMAXPROCS=2",
		"GOMAXPROCS=500m":     ignores + "want a whole number such as GOMAXPROCS=2",
		"GOMEMLIMIT=1024MiB":  "",
		"GOMEMLIMIT=0":        "",
		"GOMEMLIMIT=0MiB":     "",
		"GOMEMLIMIT=00012KiB": "",
		"GOMEMLIMIT=4096":     "",
		"GOMEMLIMIT=off":      "",
		"GOMEMLIMIT=":         "",
		"GOGC=":               "",
		"GOGC=-1":             "",
		"GOGC=off":            "",
		"GOMAXPROCS=0":        "",
		"GOMEMLIMITS=1Gi":     "",
		"GOGC=+200":           hundred + "write GOGC=200",
		"GOMAXPROCS=-1":       ignores + "want a whole number such as GOMAXPROCS=2",
		"GODEBUG=":            "",
		"GODEBUG=gctrace=1":   "",
		"GODEBUG=gctrace=1,madvdontneed=0,netdns=go+1,cpu.avx2=off,": "",
	} {
		got := ""
		if err := Check(kv, ""); err != nil {
			got = err.Error()
		}
		if want != "" {
			want = kv + ": " + want
		}
		if got != want {
			t.Errorf("%s\n got %q\nwant %q", kv, got, want)
		}
	}
}

// Settings of GODEBUG are known by the version of Go.
func TestCheckGODEBUG(t *testing.T) {
	for _, c := range []struct{ value, release, want string }{
		{"madvdontned=1", "", "GODEBUG=madvdontned=1: no version of Go has this setting of GODEBUG; write GODEBUG=madvdontneed=1"},
		{"gctrace=1,nosuch=2", "", "GODEBUG=nosuch=2: no version of Go has this setting of GODEBUG"},
		{"gctrace=1, madvdontneed=1", "", "GODEBUG= madvdontneed=1: no version of Go has this setting of GODEBUG; write GODEBUG=madvdontneed=1"},
		{"gctrace=1 madvdontneed=1", "", "GODEBUG=gctrace=1 madvdontneed=1: a Go program ignores this value; write GODEBUG=gctrace=1,madvdontneed=1"},
		{"gctrace=1;madvdontneed=1", "", "GODEBUG=gctrace=1;madvdontneed=1: a Go program ignores this value; write GODEBUG=gctrace=1,madvdontneed=1"},
		{"gctrace=on", "", "GODEBUG=gctrace=on: a Go program ignores this value; want a whole number, such as GODEBUG=gctrace=1"},
		{"gctrace", "", "GODEBUG=gctrace: a Go program ignores a setting without a value; want NAME=VALUE, such as GODEBUG=gctrace=1"},
		{"containermaxprocs=0", "go1.24.13", "GODEBUG=containermaxprocs=0: go1.24.13 does not know this setting: Go 1.25 and later do"},
		{"containermaxprocs=0", "go1.25.5", ""},
		{"containermaxprocs=0", "", ""},
		{"asynctimerchan=1", "go1.27.4", "GODEBUG=asynctimerchan=1: go1.27.4 does not know this setting: Go 1.26 was the last that did"},
		{"asynctimerchan=1", "go1.26.8 X:nogreenteagc", ""},
		{"containermaxprocs=0", "go1.18", ""}, // versions before Go 1.21 are not told apart
		{"containermaxprocs=0", "devel go1.28-abc", ""},
	} {
		got := ""
		if err := Check("GODEBUG="+c.value, c.release); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s of %q\n got %q\nwant %q", c.value, c.release, got, c.want)
		}
	}
}

func TestCheckAll(t *testing.T) {
	env := []string{"A=B", "GOGC=200%", "GODEBUG=x=1,gctrace=1,y=2", "GOMEMLIMIT=1GiB", "GOGC=1", "GOMAXPROCS=half"}
	var got []string
	for _, p := range CheckAll(env, "") {
		got = append(got, fmt.Sprint(p.Variable, " ", p.Unknown, " ", p.Meant))
	}
	if want := []string{"GOGC=200% false GOGC=200", "GOMAXPROCS=half false ", "GODEBUG=x=1 true ", "GODEBUG=y=2 true "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// program says what its runtime has in effect.
const program = `package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

func main() {
	fmt.Println("GOGC", debug.SetGCPercent(100))
	fmt.Println("GOMAXPROCS", runtime.GOMAXPROCS(0), runtime.NumCPU())
	fmt.Println("GOMEMLIMIT", debug.SetMemoryLimit(-1))
	runtime.GC()
	runtime.GC() // the end of the program may cut its line, if traced, not the one before
}
`

// What is refused is what programs of real versions of Go do not read: they end, or have the
// default.
func TestAsTheRuntime(t *testing.T) {
	releases := goversion.SupportOf(goversion.State).Releases()
	for _, release := range testenv.Versions(t, releases[slices.Index(releases, "go1.24.13"):]) {
		t.Run(release, func(t *testing.T) {
			exe, err := testenv.Build{Source: testenv.Module(program), Env: []string{"GOTOOLCHAIN=" + release, "CGO_ENABLED=0"}}.Try(t)
			if err != nil {
				testenv.Missing(t, "%v", err)
			}
			run := func(variable string) (out string, died bool) {
				cmd := exec.Command(exe)
				cmd.Env = []string{variable}
				text, err := cmd.CombinedOutput()
				return string(text), err != nil
			}
			field := func(out, name string) []string {
				for line := range strings.Lines(out) {
					if f := strings.Fields(line); len(f) > 0 && f[0] == name {
						return f[1:]
					}
				}
				t.Fatalf("no %s in %q", name, out)
				return nil
			}
			for _, value := range []string{"off", "0", "1", "1B", "B", "iB", "MiB", "1024Mi", "1G", "1GB", "1gib", "1.5GiB", " 1GiB", "1GiB ", "0x1000", "1e9",
				"-1", "1_000", "8796093022207MiB", "8796093022208MiB", "8388607TiB", "8388608TiB", "9223372036854775807", "9223372036854775808", "99999999999999999999"} {
				out, died := run("GOMEMLIMIT=" + value)
				if died && !strings.Contains(out, "malformed GOMEMLIMIT") {
					t.Fatalf("%q: %s", value, out)
				}
				err := Check("GOMEMLIMIT="+value, release)
				if (err != nil) != died {
					t.Errorf("GOMEMLIMIT=%q: %v; the program ended: %v", value, err, died)
				}
				if want := ""; died {
					if want = err.Error(); Died(out) != want {
						t.Errorf("GOMEMLIMIT=%q: its end is explained by %q, want %q", value, Died(out), want)
					}
				}
			}
			// 33 is what no default is. Where the value is read as it is meant, it is in effect.
			for _, value := range []string{"33", "033", "33%", " 33", "33 ", "33.0", "3.3e1", "0x21", "3_3", "off", "Off", "OFF", "-1", "2147483647", "2147483648", "x"} {
				out, _ := run("GOGC=" + value)
				got := field(out, "GOGC")[0]
				if refused := Check("GOGC="+value, release) != nil; refused != (got == "100") {
					t.Errorf("GOGC=%q: refused: %v, in effect: %s", value, refused, got)
				}
			}
			for _, value := range []string{"33", "033", "33.0", " 33", "33m", "-3", "0x21", "99999999999"} {
				out, _ := run("GOMAXPROCS=" + value)
				got := field(out, "GOMAXPROCS")
				if refused := Check("GOMAXPROCS="+value, release) != nil; refused != (got[0] == got[1]) {
					t.Errorf("GOMAXPROCS=%q: refused: %v, in effect: %s", value, refused, got)
				}
			}
			for _, value := range []string{"gctrace=1", "gctrace=01", "gctrace=on", "gctrace=1.0", "gctrace= 1", " gctrace=1", "gctrace=1 madvdontneed=1", "madvdontneed=1,gctrace=1",
				"gctrace=1;madvdontneed=1", "GCTRACE=1", "gctrace", "gctrce=1", "gctrace=2147483648"} {
				out, _ := run("GODEBUG=" + value)
				if refused := Check("GODEBUG="+value, release) != nil; refused != !strings.Contains(out, "gc 1 @") {
					t.Errorf("GODEBUG=%q: refused: %v; the program printed %q", value, refused, out)
				}
			}
		})
	}
}

// The table of GODEBUG is that of the sources of each version of Go.
func TestKnown(t *testing.T) {
	releases := goversion.SupportOf(goversion.Waterfall).Releases()
	for _, release := range testenv.Versions(t, releases) {
		cmd := exec.Command("go", "env", "GOROOT")
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+release)
		out, err := cmd.Output()
		if err != nil {
			testenv.Missing(t, "%s: %v", release, err)
		}
		root := strings.TrimSpace(string(out))
		want := map[string]bool{"memprofilerate": true}
		names(t, filepath.Join(root, "src/internal/godebugs/table.go"), "All", want)
		numbers := map[string]bool{"memprofilerate": true}
		names(t, filepath.Join(root, "src/runtime/runtime1.go"), "dbgvars", numbers)
		for n := range numbers {
			want[n] = true
			if Check("GODEBUG="+n+"=x", release) == nil {
				t.Errorf("%s: %s is a number", release, n)
			}
		}
		for n := range want {
			if err := Check("GODEBUG="+n+"=1", release); err != nil {
				t.Errorf("%s has %s: %v", release, n, err)
			}
		}
		for _, k := range known[:len(known)-1] {
			for n := range strings.FieldsSeq(k.names) {
				// A security release added this one.
				if Check("GODEBUG="+n+"=1", release) == nil && !want[n] && n != "urlmaxqueryparams" {
					t.Errorf("%s does not have %s", release, n)
				}
			}
		}
	}
}

// names collects the names of a table: a variable with a list of composites.
func names(t *testing.T, file, variable string, into map[string]bool) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(f, func(x ast.Node) bool {
		v, ok := x.(*ast.ValueSpec)
		if !ok || v.Names[0].Name != variable {
			return true
		}
		for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
			first := e.(*ast.CompositeLit).Elts[0]
			if kv, ok := first.(*ast.KeyValueExpr); ok {
				first = kv.Value
			}
			into[strings.Trim(first.(*ast.BasicLit).Value, `"`)] = true
			n++
		}
		return false
	})
	if n == 0 {
		t.Fatalf("%s has no %s", file, variable)
	}
}

// What a problem tells to write is read as it is meant.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"GOGC=200%", "GOMEMLIMIT=1024Mi", "GOMEMLIMIT=1G", "GOMAXPROCS=2.0", "GODEBUG=gctrace=1 x=2", "GODEBUG=madvdontned=1,", "GODEBUG==", "GOGC", "="} {
		f.Add(s)
	}
	alternatives := regexp.MustCompile(`, or GOMEMLIMIT=`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range CheckAll([]string{s}, "go1.26.8") {
			if p.Meant == "" {
				continue
			}
			for _, m := range alternatives.Split(p.Meant, 2) {
				if !strings.Contains(m, "=") {
					m = "GOMEMLIMIT=" + m
				}
				if again := CheckAll([]string{m}, "go1.26.8"); len(again) > 0 && !strings.HasPrefix(m, "GODEBUG=") {
					t.Errorf("%q is to be written %q: %v", s, m, again[0])
				}
			}
		}
		Died(s)
	})
}
