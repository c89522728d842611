package procmem

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCPUModel(t *testing.T) {
	for name, want := range map[string]string{
		"linux-5.10":          "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
		"linux-6.1-arm64-64k": "ARM Neoverse-N1",
		"minimal":             "",
	} {
		if got, err := fixture(name).CPUModel(); got != want || err != nil {
			t.Errorf("%s: CPUModel = %q, %v, want %q", name, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"CPU implementer\t: 0x99\nCPU part\t: 0x001\n": "ARM implementer 0x99 part 0x001",
		"cpu\t\t: POWER9, altivec supported\n":         "POWER9, altivec supported",
		"vendor_id : IBM/S390\n# processors : 4\n":     "IBM/S390",
		"hart : 0\nisa : rv64gc\nuarch : sifive,u74\n": "sifive,u74",
		"": "",
	} {
		if got, err := parseCPUModel([]byte(in)); got != want || err != nil {
			t.Errorf("parseCPUModel(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func FuzzCPUModel(f *testing.F) {
	seed(f, "proc/cpuinfo")
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseCPUModel(data)
		if err != nil || got != strings.TrimSpace(got) {
			t.Errorf("parseCPUModel = %q, %v", got, err)
		}
	})
}

// TestCPUFlags: a program may run on any processor, so it may use what all have.
func TestCPUFlags(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"processor : 0\nflags : fpu avx2 abm\n\nprocessor : 1\nflags : abm fpu\nvmx flags : x\n": "fpu abm",
		"processor : 0\nFeatures : fp asimd\n":                                                   "",
	} {
		if err := os.WriteFile(filepath.Join(dir, "proc", "cpuinfo"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := New(dir).CPUFlags(); strings.Join(got, " ") != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := New(t.TempDir()).CPUFlags(); err == nil {
		t.Error("flags of no file")
	}
}
