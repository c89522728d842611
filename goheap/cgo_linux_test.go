package goheap

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/library/heapmap"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestFindBesideC: memory of C is not the heap, neither for the process itself, nor
// from outside by name or by shape.
func TestFindBesideC(t *testing.T) {
	needCollapse(t)
	if _, err := exec.LookPath("cc"); err != nil {
		if _, err := exec.LookPath("gcc"); err != nil {
			testenv.Missing(t, "no C compiler")
		}
	}
	cmd := exec.Command(testenv.Build{Dir: "testdata/cgo", Env: []string{"CGO_ENABLED=1"}}.Do(t))
	in, out := testenv.Start(t, cmd)
	defer func() { in.Close(); _ = cmd.Wait() }()
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Heap, Other []uintptr
		Ranges      []page.Range
		Error       string
	}
	decode(t, line, &c)
	if c.Error != "" || len(c.Heap) == 0 || len(c.Other) == 0 {
		t.Fatalf("%s", line)
	}
	heap, other := map[string]uintptr{}, map[string]uintptr{}
	for i, at := range c.Heap {
		heap[fmt.Sprint("object ", i)] = at
	}
	for i, at := range c.Other {
		other[fmt.Sprint("memory of C ", i)] = at
	}
	found, err := heapmap.Find(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	vmas, err := procFS.Maps(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	var nameless []procmem.VMA
	for _, v := range vmas {
		if strings.HasPrefix(v.Name, "[anon: Go: ") {
			v.Name = ""
		}
		nameless = append(nameless, v)
	}
	for how, ranges := range map[string][]page.Range{"itself": c.Ranges, "from outside": found, "by shape": heapmap.Shaped(nameless)} {
		t.Run(how, func(t *testing.T) { expect(t, ranges, heap, other) })
	}
}
