package page_test

import (
	"runtime"
	"testing"
	"unsafe"

	system "github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/page"
)

func TestConstantsAreThoseOfTheSystem(t *testing.T) {
	for got, want := range map[int]system.Kind{int(page.Base): system.Base, int(page.THP): system.THP, int(page.HugeTLB): system.HugeTLB} {
		if got != int(want) || page.Kind(got).String() != want.String() {
			t.Errorf("kind %d is %v, want %v", got, page.Kind(got), want)
		}
	}
	for got, want := range map[int]system.Advice{int(page.AdviseHuge): system.AdviseHuge, int(page.AdviseNoHuge): system.AdviseNoHuge} {
		if got != int(want) || page.Advice(got).String() != want.String() {
			t.Errorf("advice %d is %v, want %v", got, page.Advice(got), want)
		}
	}
	for got, want := range map[int]system.Release{int(page.ReleaseDontNeed): system.ReleaseDontNeed, int(page.ReleaseFree): system.ReleaseFree,
		int(page.ReleaseCold): system.ReleaseCold, int(page.ReleasePageOut): system.ReleasePageOut} {
		if got != int(want) || page.Release(got).String() != want.String() {
			t.Errorf("release %d is %v, want %v", got, page.Release(got), want)
		}
	}
}

func TestRange(t *testing.T) {
	words := make([]uint64, 3)
	r := page.RangeOf(words)
	if r.Start != uintptr(unsafe.Pointer(&words[0])) || r.Len() != 24 || page.RangeOf([]int(nil)).Len() != 0 {
		t.Errorf("RangeOf: %v", r)
	}
	runtime.KeepAlive(words)
	r = page.Range{Start: 0x1fff, End: 0x4001}
	if in, out := r.Inward(0x1000), r.Outward(0x1000); in.String() != "2000-4000" || out.String() != "1000-5000" {
		t.Errorf("inward %v, outward %v", in, out)
	}
}
