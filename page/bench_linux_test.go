package page

import "testing"

const benchmarked = 64 << 20

// written maps memory of a kind, written to once.
func written(b *testing.B, k Kind) *Mapping {
	b.Helper()
	m, err := Map(benchmarked, &Options{Kind: k})
	if err != nil {
		b.Skipf("map %v: %v", k, err)
	}
	write(m)
	return m
}

func write(m *Mapping) {
	memory := m.Bytes()
	for i := 0; i < len(memory); i += Size() {
		memory[i] = 1
	}
}

// What the first touch of memory costs, by the size of its pages.
func BenchmarkMapAndTouch(b *testing.B) {
	for _, k := range []Kind{Base, THP} {
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
	for _, k := range []Kind{Base, THP} {
		b.Run(k.String(), func(b *testing.B) {
			m := written(b, k)
			defer m.Close()
			b.SetBytes(benchmarked)
			b.ReportAllocs()
			for b.Loop() {
				if r, err := m.Residency(nil); err != nil || r.Resident < benchmarked {
					b.Fatal(r, err)
				}
			}
		})
	}
}

func BenchmarkReleaseAndTouch(b *testing.B) {
	for _, k := range []Kind{Base, THP} {
		b.Run(k.String(), func(b *testing.B) {
			m := written(b, k)
			defer m.Close()
			b.SetBytes(benchmarked)
			for b.Loop() {
				if _, err := m.Release(0, m.Len(), DontNeed, nil); err != nil {
					b.Fatal(err)
				}
				write(m)
			}
		})
	}
}

func BenchmarkAdvise(b *testing.B) {
	m := written(b, Base)
	defer m.Close()
	for b.Loop() {
		if err := m.Range().Advise(Huge); err != nil {
			b.Skip(err)
		}
	}
}
