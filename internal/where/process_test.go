package where

import (
	"testing"

	"github.com/foliomem/folio/internal/perf"
	"pgregory.net/rapid"
)

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
			m := &perf.Mapping{Addr: rapid.Uint64Range(0, 60).Draw(t, "start"), Len: rapid.Uint64Range(0, 20).Draw(t, "length"), Offset: rapid.Uint64Range(0, 1000).Draw(t, "offset")}
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
