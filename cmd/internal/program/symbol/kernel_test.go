package symbol

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

const someKernel = `0000000000001000 A fixed_percpu_data
ffffffff81000000 t unlikely_alias
ffffffff81000000 T _stext
ffffffff81000000 T startup
ffffffff81000000 T later_alias
ffffffff81000100 t local_function
ffffffff81000200 T __irqentry_text_start
ffffffff81000200 T asm_exc_page_fault
ffffffff81000300 T _etext
ffffffff81000400 D some_data
ffffffffc0000000 t in_module	[ext4]
ffffffffc0000100 t bpf_prog_6deef7357e7b4530_sd_fw_egress	[bpf]
`

func TestKernelLookup(t *testing.T) {
	k, err := readKernel(strings.NewReader(someKernel))
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[uint64]string{
		0:                  "",
		0x1000:             "",
		0xffffffff80ffffff: "",
		0xffffffff81000000: "startup",
		0xffffffff810000ff: "startup",
		0xffffffff81000100: "local_function",
		0xffffffff810002ff: "asm_exc_page_fault",
		0xffffffff81000400: "",
		0xffffffff81000500: "",
		0xffffffffc0000010: "in_module",
		0xffffffffc0000110: "bpf_prog_6deef7357e7b4530_sd_fw_egress",
		0xffffffffd0000000: "",
		^uint64(0):         "",
	} {
		if got := k.Lookup(address); got != want {
			t.Errorf("%#x: got %q, want %q", address, got, want)
		}
	}
}

func TestKernelErrors(t *testing.T) {
	for text, want := range map[string]string{
		"": "it is empty",
		"0000000000000000 T _stext\n0000000000000000 t x\n": "all addresses are hidden",
		"0000000000000000 T _stext\nnonsense\n":             `line 2: want "address type name"`,
		"ffffffff81000000 Text x\n":                         `line 1: want "address type name"`,
	} {
		k, err := readKernel(strings.NewReader(text))
		if k != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestRunningKernel(t *testing.T) {
	k, err := Kernel()
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	for _, s := range k.list {
		if s.name == "vfs_read" {
			if got := k.Lookup(s.address + 1); got != "vfs_read" {
				t.Errorf("got %q", got)
			}
			return
		}
	}
	t.Error("vfs_read is not among the kernel's functions")
}

func FuzzKernel(f *testing.F) {
	f.Add(someKernel)
	f.Fuzz(func(t *testing.T, text string) {
		if k, err := readKernel(strings.NewReader(text)); err == nil {
			for _, s := range k.list {
				if got := k.Lookup(s.address); got != s.name {
					t.Errorf("%#x: got %q, want %q", s.address, got, s.name)
				}
			}
		}
	})
}
