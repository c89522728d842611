package page

import (
	"math"
	"testing"
	"unsafe"
)

func FuzzRangeRounding(f *testing.F) {
	f.Add(uint64(0), uint64(0), uint8(0))
	f.Add(uint64(1), uint64(4097), uint8(12))
	f.Add(uint64(math.MaxUint64-5), uint64(math.MaxUint64), uint8(21))
	f.Add(uint64(9), uint64(3), uint8(2))
	f.Fuzz(func(t *testing.T, start, end uint64, shift uint8) {
		r := Range{uintptr(start), uintptr(end)}
		align := 1 << (shift % 30)
		in, out := r.Inward(align), r.Outward(align)
		mask := uintptr(align - 1)
		if r.Len() == 0 {
			if in.Len() != 0 || out.Len() != 0 {
				t.Fatalf("empty %v: inward %v, outward %v", r, in, out)
			}
			return
		}
		if in.Len() > 0 && (in.Start < r.Start || in.End > r.End || in.Start&mask != 0 || in.End&mask != 0) {
			t.Errorf("%v inward to %#x is %v", r, align, in)
		}
		// It is the largest such range.
		if in.Len() == 0 && r.Len() >= uintptr(align)*2 || in.Len() > 0 && (in.Start-r.Start > mask || r.End-in.End > mask) {
			t.Errorf("%v inward to %#x is %v: too little", r, align, in)
		}
		if out.Start > r.Start || out.End < r.End || out.Start&mask != 0 || out.End&mask != 0 && out.End != ^uintptr(0) {
			t.Errorf("%v outward to %#x is %v", r, align, out)
		}
		if r.Start-out.Start > mask || out.End-r.End > mask {
			t.Errorf("%v outward to %#x is %v: too much", r, align, out)
		}
	})
}

func TestOf(t *testing.T) {
	s := make([]uint64, 10, 20)
	r := RangeOf(s)
	if r.Start != uintptr(unsafe.Pointer(&s[0])) || r.Len() != 80 {
		t.Errorf("RangeOf is %v", r)
	}
	if RangeOf(s[:0]).Len() != 0 || RangeOf[int](nil).Len() != 0 || RangeOf(make([]struct{}, 5)).Len() != 0 {
		t.Error("an empty slice has addresses")
	}
	if r := OfPointer(unsafe.Pointer(&s[0]), 3); r.Start != uintptr(unsafe.Pointer(&s[0])) || r.Len() != 3 {
		t.Errorf("OfPointer is %v", r)
	}
}

func TestAlignmentMustBeAPowerOfTwo(t *testing.T) {
	for _, align := range []int{0, -1, 3, math.MinInt} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("alignment %d is taken", align)
				}
			}()
			Range{0, 1}.Inward(align)
		}()
	}
}

func TestZeroValues(t *testing.T) {
	if Kind(0) != Base || Commit(0) != Lazy || Release(0) != ReleaseDontNeed || Advice(0) != AdviseHuge {
		t.Error("the defaults changed")
	}
	if (Residency{}).Coverage() != 0 || (Window{}).Density() != 0 {
		t.Error("nothing has a coverage or a density")
	}
	for got, want := range map[string]string{
		Base.String(): "base", THP.String(): "thp", HugeTLB.String(): "hugetlb", Kind(9).String(): "Kind(9)",
		Lazy.String(): "lazy", Touch.String(): "touch", Populate.String(): "populate", Ahead.String(): "ahead", Commit(9).String(): "Commit(9)",
		ReleaseDontNeed.String(): "dontneed", ReleaseFree.String(): "free", ReleaseCold.String(): "cold", ReleasePageOut.String(): "pageout",
		AdviseHuge.String(): "huge", AdviseNoHuge.String(): "nohuge",
	} {
		if got != want {
			t.Errorf("String is %q, want %q", got, want)
		}
	}
}
