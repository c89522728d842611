package gccontrol

import (
	"encoding/binary"
	"math"
	"testing"
	"time"
)

// FuzzController feeds nonsense: whatever is measured, what comes out can be set.
func FuzzController(f *testing.F) {
	f.Add(0.0, 0.0, 0.0, int64(0), 0, 0, false, false, []byte("0123456789abcdef0123456789abcdef0123456789abcdef"))
	f.Add(math.NaN(), -1.0, math.Inf(1), int64(math.MinInt64), -5, math.MaxInt32, false, true, make([]byte, 500))
	f.Fuzz(func(t *testing.T, leave, target, most float64, cycle int64, floor, ceiling int, userGOGC, userLimit bool, data []byte) {
		p := Params{Threshold: leave, Target: target, MaxCost: most, MinCycle: time.Duration(cycle), Floor: floor,
			Ceiling: ceiling, UserGOGC: userGOGC, UserLimit: userLimit}
		c := NewController(p)
		s := Sample{GOGC: base, MemoryLimit: math.MaxInt64}
		next := func() (v uint64) {
			if len(data) == 0 {
				return 0
			}
			// A byte for the size, two for the value.
			var b [8]byte
			n := copy(b[:2], data[1:])
			v = uint64(binary.LittleEndian.Uint16(b[:])) << (data[0] % 64)
			data = data[1+n:]
			return v
		}
		for range 200 {
			if len(data) == 0 {
				return
			}
			s.Time += time.Duration(next() % (1 << 40))
			s.Cycles += next() % 1000
			s.Forced += next() % 10
			s.GCTime, s.CPU = s.GCTime+time.Duration(next()%(1<<40)), s.CPU+time.Duration(next()%(1<<40))
			s.Allocated += next()
			s.Live, s.Scan, s.Overhead, s.NonGo = next(), next(), next(), next()
			s.Committed, s.Releasable, s.CPUs = next(), next(), int(next()%8)
			s.Budget, s.Reserve, s.Hard, s.Pressure = next(), next(), next(), float64(next()%100)/50
			if v := next(); v%8 == 7 {
				s.GOGC = int(v>>8) - 1
			}
			before := c.window
			d := c.Next(s)
			if pause := NextLook(Tick, &before, &s, &d, base); pause < 0 || pause > maxTick {
				t.Fatalf("the next look after %v", pause)
			}
			switch {
			case d.UserGOGC && d.GOGC != s.GOGC:
				t.Fatalf("GOGC of the user changed from %d to %d", s.GOGC, d.GOGC)
			case !d.UserGOGC && d.GOGC != s.GOGC && (d.GOGC < base || d.GOGC > c.p.Ceiling):
				t.Fatalf("GOGC %d", d.GOGC)
			case d.UserLimit && d.MemoryLimit != s.MemoryLimit:
				t.Fatalf("limit of the user changed from %d to %d", s.MemoryLimit, d.MemoryLimit)
			case d.MemoryLimit != s.MemoryLimit && d.MemoryLimit < minHeap:
				t.Fatalf("limit %d", d.MemoryLimit)
			case !(d.Cost >= 0 && d.Cost <= 1) || !(d.CostAtBase >= 0 && d.CostAtBase <= 1):
				t.Fatalf("costs %v, %v", d.Cost, d.CostAtBase)
			case math.IsNaN(d.Growth) || math.IsInf(d.Growth, 0):
				t.Fatalf("growth %v", d.Growth)
			}
			_ = Describe(&s, &d, base)
			s.GOGC, s.MemoryLimit = d.GOGC, d.MemoryLimit
		}
	})
}

// FuzzGOGC checks that gogcFor is the inverse of growth, rounded down.
func FuzzGOGC(f *testing.F) {
	f.Add(uint64(100<<20), uint64(0), uint64(300<<20))
	f.Add(uint64(0), uint64(0), uint64(40<<20))
	f.Fuzz(func(t *testing.T, live, scan, h uint64) {
		live, scan, h = live%(1<<46), scan%(1<<30), h%(1<<46)
		v := gogcFor(float64(h), live, scan, 20000)
		if v < base || v > 20000 {
			t.Fatalf("GOGC %d", v)
		}
		g := growth(v, live, scan)
		if v > base && g > float64(h)*1.000001+1 {
			t.Fatalf("GOGC %d grows by %.0f, more than %d", v, g, h)
		}
		if next := growth(v+1, live, scan); v < 20000 && next < float64(h)*0.999999-1 {
			t.Fatalf("GOGC %d would do for %d too: it grows by %.0f", v+1, h, next)
		}
	})
}
