package procmem

import (
	"strings"
	"testing"
)

func TestVmstat(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/vmstat", "nr_free_pages 5812000\nthp_fault_alloc 645280\nswap_ra 0\n")
	v, err := New(root).Vmstat()
	if err != nil || len(v) != 3 || v["thp_fault_alloc"] != 645280 {
		t.Errorf("Vmstat = %v, %v", v, err)
	}
	if _, ok := v["swap_ra"]; !ok {
		t.Error("a counter at zero is absent")
	}
}

func TestVmstatErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":              "no known field",
		"a\n":           "want \"name number\"",
		"a x\n":         "a: ",
		"a 1\nb -1\n":   "b: ",
		"a 1 2\nb 18\n": "a: ",
	} {
		v, err := parseVmstat([]byte(in))
		if err == nil || !strings.HasPrefix(err.Error(), want) || v != nil {
			t.Errorf("parseVmstat(%q) = %v, %v, want %s", in, v, err, want)
		}
	}
}

func FuzzVmstat(f *testing.F) {
	f.Add([]byte("nr_free_pages 5812000\nthp_fault_alloc 645280\n"))
	f.Add([]byte("nr_x 18446744073709551612\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parseVmstat(data)
		if (err == nil) != (len(v) > 0) {
			t.Errorf("%d counters, error %v", len(v), err)
		}
	})
}
