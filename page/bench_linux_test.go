package page_test

import (
	"testing"

	"github.com/foliomem/folio/page"
)

const benchmarked = 64 << 20

// written maps memory of a kind, written to once.
func written(b *testing.B, k page.Kind) *page.Mapping {
	b.Helper()
	m, err := page.Map(benchmarked, &page.Options{Kind: k})
	if err != nil {
		b.Skipf("map %v: %v", k, err)
	}
	write(m)
	return m
}

func write(m *page.Mapping) {
	memory := m.Bytes()
	for i := 0; i < len(memory); i += page.Size() {
		memory[i] = 1
	}
}

// What the first touch of memory costs, by the size of its pages.
func BenchmarkMapAndTouch(b *testing.B) {
	for _, k := range []page.Kind{page.Base, page.THP} {
		b.Run(k.String(), func(b *testing.B) {
			b.SetBytes(benchmarked)
			for b.Loop() {
				if err := written(b, k).Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResidency(b *testing.B) {
	for _, k := range []page.Kind{page.Base, page.THP} {
		b.Run(k.String(), func(b *testing.B) {
			m := written(b, k)
			defer m.Close()
			b.SetBytes(benchmarked)
			b.ReportAllocs()
			for b.Loop() {
				if r, err := m.Residency(); err != nil || r.Resident < benchmarked {
					b.Fatal(r, err)
				}
			}
		})
	}
}

func BenchmarkReleaseAndTouch(b *testing.B) {
	for _, k := range []page.Kind{page.Base, page.THP} {
		b.Run(k.String(), func(b *testing.B) {
			m := written(b, k)
			defer m.Close()
			b.SetBytes(benchmarked)
			for b.Loop() {
				if _, err := m.Release(0, m.Len(), page.ReleaseDontNeed, nil); err != nil {
					b.Fatal(err)
				}
				write(m)
			}
		})
	}
}

func BenchmarkAdvise(b *testing.B) {
	m := written(b, page.Base)
	defer m.Close()
	for b.Loop() {
		if err := m.Range().Advise(page.AdviseHuge); err != nil {
			b.Skip(err)
		}
	}
}
