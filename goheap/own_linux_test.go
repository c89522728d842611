package goheap

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/foliomem/folio/internal/library/heapmap"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

var procFS = procmem.New("")

func farAway() time.Time { return time.Now().Add(time.Hour) }

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
}

// flagsOf returns the flags of the mappings of this process that overlap r.
func flagsOf(r page.Range) (string, error) {
	data, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return "", err
	}
	var out strings.Builder
	within := false
	for line := range bytes.Lines(data) {
		var start, end uintptr
		if n, _ := fmt.Sscanf(string(line), "%x-%x ", &start, &end); n == 2 {
			within = start < r.End && r.Start < end
		}
		if flags, ok := bytes.CutPrefix(line, []byte("VmFlags:")); ok && within {
			out.Write(flags)
		}
	}
	return out.String(), nil
}

// addresses are some of the heap, and some of everything else.
func addresses(t testing.TB) (heap, other map[string]uintptr) {
	heap, other = map[string]uintptr{}, map[string]uintptr{}
	for n := 8; n <= 64<<20; n *= 4 {
		b := make([]byte, n)
		heap[fmt.Sprint("first of ", n)] = uintptr(unsafe.Pointer(&b[0]))
		heap[fmt.Sprint("last of ", n)] = uintptr(unsafe.Pointer(&b[n-1]))
		t.Cleanup(func() { runtime.KeepAlive(b) })
	}
	for i, n := range grow(1 << 20) {
		heap[fmt.Sprint("node ", i)] = uintptr(unsafe.Pointer(n))
	}
	stack := make(chan uintptr)
	for i := range 10 {
		go func() { var x int; stack <- uintptr(unsafe.Pointer(&x)) }()
		heap[fmt.Sprint("stack of goroutine ", i)] = <-stack
	}
	m, err := page.Map(heapmap.ArenaBytes, &page.Options{Commit: page.Touch})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	other["a mapping"] = m.Range().Start
	other["its end"] = m.Range().End - 1
	other["a variable"] = uintptr(unsafe.Pointer(&procFS))
	other["code"] = codeAddress()
	vmas, err := procFS.Maps(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vmas {
		if v.Inode != 0 || strings.HasPrefix(v.Name, "[") && !strings.HasPrefix(v.Name, "[anon") {
			other[v.Name] = uintptr(v.Start)
		}
	}
	return heap, other
}

func codeAddress() uintptr {
	pc, _, _, _ := runtime.Caller(0)
	return pc
}

func TestOwnHeap(t *testing.T) {
	heap, other := addresses(t)
	ranges, err := own(procFS)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, ranges, heap, other)
	if n, h := size(ranges), readHeap(); n > h.mapped+h.other {
		t.Errorf("%d bytes, the runtime has %d", n, h.mapped)
	}
}

func expect(t *testing.T, ranges []page.Range, heap, other map[string]uintptr) {
	t.Helper()
	for name, at := range heap {
		if !contains(ranges, at) {
			t.Errorf("%s (%#x) is not in %v", name, at, ranges)
		}
	}
	for name, at := range other {
		if contains(ranges, at) {
			t.Errorf("%s (%#x) is in %v", name, at, ranges)
		}
	}
}

// targetRole is a program that is looked at from outside.
func targetRole() error {
	all := grow(20 << 20)
	var list []uintptr
	for i := 0; i < len(all); i += 100 {
		list = append(list, uintptr(unsafe.Pointer(all[i])))
	}
	ranges, err := own(procFS)
	if err != nil {
		return err
	}
	dump(map[string]any{"Nodes": list, "Ranges": ranges})
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	runtime.KeepAlive(all)
	return nil
}

func TestFindInAnotherProcess(t *testing.T) {
	cmd := testenv.Role(t, "target")
	in, out := testenv.Start(t, cmd)
	defer func() { in.Close(); _ = cmd.Wait() }()
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var target struct {
		Nodes  []uintptr
		Ranges []page.Range
	}
	decode(t, line, &target)
	ranges, err := heapmap.Find(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	heap := map[string]uintptr{}
	for i, at := range target.Nodes {
		heap[fmt.Sprint("node ", i)] = at
	}
	expect(t, ranges, heap, nil)
	// The heap may have grown while it was printed, so only as much as it knew of.
	for _, r := range target.Ranges {
		if !contains(ranges, r.Start) || !contains(ranges, r.End-1) {
			t.Errorf("%v of %v is not in %v", r, target.Ranges, ranges)
		}
	}
}

func TestFindNobody(t *testing.T) {
	if r, err := heapmap.Find(1 << 30); err == nil {
		t.Errorf("%v", r)
	}
}
