package profile

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/system/perf"
)

// TestEndlessMappings is about a process that maps files for ever, as one can that is
// attached to: the collector opens a bounded number of them, and remembers a bounded
// number of places.
func TestEndlessMappings(t *testing.T) {
	opened := 0
	c := New(&Options{open: func(m *perf.Mapping) *object { opened++; return &object{path: m.Path} }})
	const many = maxMaps + 100
	for i := range uint64(many) {
		c.mmap(&perf.Mapping{PID: 1, Addr: i << 12, Len: 1 << 12, Path: fmt.Sprintf("/tmp/%d", i), Exec: true})
	}
	if len(c.objects) > input.MaxObjectFiles+1 || opened > input.MaxObjectFiles {
		t.Errorf("%d objects, %d files opened, want at most %d", len(c.objects), opened, input.MaxObjectFiles)
	}
	if n := len(c.process(1).maps); n == 0 || n > maxMaps {
		t.Errorf("%d mappings are kept, want at most %d", n, maxMaps)
	}
	if m := c.process(1).find((many - 1) << 12); m == nil || c.objects[m.object].err == nil {
		t.Errorf("the last one is not known, or has no reason for its lack of names: %+v", m)
	}
}

// A process's mappings against a model that knows each page.
func TestMappings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type page struct {
			object uint32
			offset uint64
		}
		model := make(map[uint64]page)
		p := &process{}
		for i := range rapid.IntRange(1, 30).Draw(t, "mappings") {
			m := &perf.Mapping{Addr: rapid.Uint64Range(0, 60).Draw(t, "start"),
				Len: rapid.Uint64Range(0, 20).Draw(t, "length"), Offset: rapid.Uint64Range(0, 1000).Draw(t, "offset")}
			p.add(m, uint32(i+2))
			for a := range m.Len {
				model[m.Addr+a] = page{uint32(i + 2), m.Offset + a}
			}
			child := p.fork()
			for a := uint64(0); a < 90; a++ {
				want, mapped := model[a]
				m := child.find(a)
				if (m != nil) != mapped {
					t.Fatalf("%d is mapped: %v, want %v", a, m != nil, mapped)
				}
				if m != nil && (page{m.object, a - m.start + m.offset}) != want {
					t.Fatalf("%d: object %d, offset %d, want %v", a, m.object, a-m.start+m.offset, want)
				}
			}
		}
	})
}
