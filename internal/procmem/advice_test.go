package procmem

import (
	"fmt"
	"strings"
	"testing"
)

// mapping is one of smaps.
func mapping(anonymous, huge int, flags string) string {
	return fmt.Sprintf("c000000000-c004000000 rw-p 00000000 00:00 0 [anon: Go: heap]\nSize: 65536 kB\nKernelPageSize: 4 kB\nRss: %d kB\nAnonymous: %d kB\nAnonHugePages: %d kB\nTHPeligible: 1\nVmFlags: %s\n",
		anonymous, anonymous, huge, flags)
}

func TestAdvice(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/7/smaps", strings.Join([]string{
		mapping(4096, 2048, "rd wr mr mw me ac sd hg "), mapping(8192, 0, "rd wr mr mw me ac hg"),
		mapping(100, 0, "rd wr mr mw me ac nh "), mapping(300, 0, "rd ex mr mw me "), mapping(16, 0, "rd wr"),
	}, ""))
	a, err := New(root).Advice(7)
	want := Advice{Mappings: 5, Huge: Extent{12288 << 10, 2048 << 10}, NoHuge: Extent{100 << 10, 0}, None: Extent{316 << 10, 0}}
	if err != nil || a != want {
		t.Errorf("Advice = %+v, %v, want %+v", a, err, want)
	}
	if a, err := parseAdvice(nil); a != (Advice{}) || err != nil {
		t.Errorf("a kernel thread: %+v, %v", a, err)
	}
	_, err = parseAdvice([]byte("Size: 4 kB\nAnonymous: x kB\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "Anonymous of mapping 1: ") {
		t.Errorf("error = %v", err)
	}
}

func FuzzAdvice(f *testing.F) {
	f.Add([]byte(mapping(4096, 2048, "rd wr hg")))
	f.Add([]byte(mapping(4096, 0, "rd wr nh")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := parseAdvice(data); err != nil && a != (Advice{}) {
			t.Errorf("values with error %v: %+v", err, a)
		}
	})
}
