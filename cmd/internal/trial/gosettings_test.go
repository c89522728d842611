package trial

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestCheckVariable(t *testing.T) {
	const (
		dies    = "a Go program ends at its start with this value; "
		hundred = "a Go program takes this value for 100; "
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
		"GODEBUG=x":           "",
	} {
		got := ""
		if err := CheckVariable(kv); err != nil {
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

// What is refused is what the runtime of this test dies of.
func TestCheckVariableAsTheRuntime(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"", "off", "0", "1", "1B", "B", "iB", "MiB", "1024Mi", "1G", "1GB", "1gib", "1.5GiB", " 1GiB", "1GiB ", "0x1000", "1e9",
		"-1", "1_000", "8796093022207MiB", "8796093022208MiB", "8388607TiB", "8388608TiB", "9223372036854775807", "9223372036854775808", "99999999999999999999"} {
		cmd := exec.Command(exe, "-test.run=^$")
		cmd.Env = append(os.Environ(), "GOMEMLIMIT="+value, "GOGC=off")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		dies := err != nil && strings.Contains(string(out), "malformed GOMEMLIMIT")
		if err != nil && !dies {
			t.Fatalf("%q: %v\n%s", value, err, out)
		}
		if refused := CheckVariable("GOMEMLIMIT="+value) != nil; refused != dies {
			t.Errorf("GOMEMLIMIT=%q: refused: %v, the runtime ends: %v", value, refused, dies)
		}
	}
}
