package arena

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/test/testenv"
)

// inFreshProcess runs a role where no memory was used before, and compares what
// it prints.
func inFreshProcess(t *testing.T, role, want string) {
	t.Helper()
	switch {
	case debugBuild:
		t.Skip("debug mode reuses no slabs")
	case asanEnabled:
		t.Skip("the memory of the address sanitizer counts, too")
	}
	out, err := child(t, role, "GOGC=off", "FOLIO=")
	if got := strings.TrimSpace(out); err != nil || got != want {
		t.Errorf("%v: %s\nwant %s", err, got, want)
	}
}

func TestLargeArenasAreOnHugePages(t *testing.T) {
	if err := page.Allowed(page.THP, 0); err != nil {
		testenv.Missing(t, "huge pages: %v", err)
	}
	inFreshProcess(t, "huge", "coverage above 90%, few faults, not low: <nil>")
	inFreshProcess(t, "base", "coverage 0, not low: huge pages are off in the arena's options")
	inFreshProcess(t, "small", "a small one is not: true")
}

func TestFreeGivesMemoryBack(t *testing.T) {
	if page.HugeSize() == 0 {
		testenv.Missing(t, "transparent huge pages")
	}
	for _, role := range []string{"released", "released by Reset", "released, one slice"} {
		inFreshProcess(t, role, "RSS falls: true")
	}
	inFreshProcess(t, "kept idle", "RSS falls: false")
	inFreshProcess(t, "kept for a moment", "RSS stays for a moment: true")
}

// Memory with pointers is never taken from under the GC, which could miss a pointer
// that is stored late; it goes when the GC frees it.
func TestMemoryWithPointersIsLeftToTheGC(t *testing.T) {
	for _, role := range []string{"pointers, Free", "pointers, Put", "pointers, one slice", "pointers, idle"} {
		inFreshProcess(t, role, "discarded: 0\nRSS falls after a cycle: true")
	}
}

// Small arenas that come after a large one, whose slabs fill the bound of idle memory, are reused
// all the same: what they need is not asked for anew each time, on base pages.
func TestSmallArenasAfterALargeOne(t *testing.T) {
	for _, role := range []string{"small after large", "small after large, plain", "small after large, two slabs", "small after large, bounded"} {
		inFreshProcess(t, role, "heap grows: false, faults: few, RSS grows: false")
	}
}

const largeBytes = 96 << 20

// block is large, so that touching every page takes little time.
type block struct {
	seed uint64
	_    *block // the GC looks at it
	_    [256 - 8 - unsafe.Sizeof(uintptr(0))]byte
}

// plainBlock is a block without pointers.
type plainBlock struct {
	seed uint64
	_    [256 - 8]byte
}

func filledWith[T any](o *Options, fill func(*T)) *Arena {
	a := NewArenaWith(o)
	h := Of[T](a)
	var b T
	for range largeBytes / unsafe.Sizeof(b) {
		fill(h.New())
	}
	return a
}

func filled(o *Options) *Arena { return filledWith(o, func(b *block) { b.seed = 1 }) }

func filledPlain(o *Options) *Arena { return filledWith(o, func(b *plainBlock) { b.seed = 1 }) }

func minorFaults() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return int64(u.Minflt)
}

func resident() (kb int) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	fmt.Sscan(rest, &kb)
	return kb
}

func init() {
	measured := func(o *Options, what func(s Stats, faults int64)) func() int {
		return func() int {
			before := minorFaults()
			a := filled(o)
			faults := minorFaults() - before
			s := a.Stats()
			if s.ResidencyErr != nil || s.Resident < largeBytes*9/10 || s.Resident > s.Reserved || s.Used != largeBytes {
				fmt.Printf("%+v\n", s)
				return 1
			}
			what(s, faults)
			a.Free()
			return 0
		}
	}
	roles["huge"] = measured(nil, func(s Stats, faults int64) {
		fmt.Print("coverage ")
		if s.Coverage() > 0.9 {
			fmt.Print("above 90%, ")
		} else {
			fmt.Printf("%.2f, ", s.Coverage())
		}
		// The race detector has its own memory for each page.
		if most := int64(largeBytes / page.Size() / 20); faults < most || raceEnabled {
			fmt.Print("few faults, ")
		} else {
			fmt.Printf("%d faults, ", faults)
		}
		fmt.Println("not low:", s.WhyNotHuge)
	})
	roles["base"] = measured(&Options{HugePages: HugeOff}, func(s Stats, faults int64) {
		fmt.Printf("coverage %v, not low: %v\n", s.Coverage(), s.WhyNotHuge)
	})
	roles["small"] = func() int {
		a := NewArena()
		New[linked](a).seed = 1
		s := a.Stats()
		fmt.Println("a small one is not:", s.Coverage() == 0 && s.WhyNotHuge != nil && strings.Contains(s.WhyNotHuge.Error(), "too small"))
		return 0
	}
	rss := func(o *Options, make func(o *Options) *Arena, end func(*Arena)) func() int {
		return func() int {
			a := make(o)
			before := resident()
			end(a)
			discards.Wait()
			fmt.Println("RSS falls:", before-resident() > largeBytes/2/1024)
			return 0
		}
	}
	roles["released"] = rss(nil, filledPlain, (*Arena).Free)
	roles["kept for a moment"] = func() int {
		falls := func(before int) bool { return before-resident() > largeBytes/2/1024 }
		kept := false
		for try := 0; try < 10 && !kept; try++ { // a busy machine may let a moment pass
			filledPlain(nil).Free()
			a := filledPlain(nil) // again
			before := resident()
			a.Free()
			discards.Wait()
			kept = !falls(before)
			for try := 0; try < 1000 && !falls(before); try++ {
				time.Sleep(10 * time.Millisecond)
			}
			if !falls(before) {
				fmt.Println("RSS stays")
				return 1
			}
		}
		fmt.Println("RSS stays for a moment:", kept)
		return 0
	}
	roles["kept idle"] = rss(&Options{IdleBytes: 2 * largeBytes}, filledPlain, (*Arena).Free)
	roles["released by Reset"] = rss(nil, filledPlain, (&Pool{}).Put)
	roles["released, one slice"] = rss(nil, oneSlice[plainBlock], (*Arena).Free)

	const byDefault, bounded = 0, 4 << 20
	roles["small after large"] = smallAfter(filled, byDefault, 100)
	roles["small after large, plain"] = smallAfter(filledPlain, byDefault, 100)
	roles["small after large, two slabs"] = smallAfter(filled, byDefault, 5000)
	roles["small after large, bounded"] = smallAfter(filled, bounded, 100)

	roles["pointers, Free"] = left(nil, filled, (*Arena).Free)
	roles["pointers, Put"] = left(nil, filled, (&Pool{}).Put)
	roles["pointers, one slice"] = left(nil, oneSlice[block], (*Arena).Free)
	roles["pointers, idle"] = left(&Options{IdleBytes: 2 * largeBytes}, filled, func(a *Arena) {
		a.Free()
		shrinkAll(nil)
	})
}

// smallAfter says what small arenas of so many values take after a large one.
func smallAfter(large func(*Options) *Arena, idle, values int) func() int {
	return func() int {
		o := &Options{IdleBytes: idle}
		large(o).Free()
		discards.Wait()
		const arenas = 10000
		small := func() {
			a := NewArenaWith(o)
			for range values {
				New[linked](a).seed = 1
			}
			a.Free()
		}
		small()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		faults, rss := minorFaults(), resident()
		for range arenas {
			small()
		}
		faults, rss = minorFaults()-faults, resident()-rss
		runtime.ReadMemStats(&after)
		// Of each arena what is not reused, which is not its slabs.
		most := uint64(arenas * 512)
		fmt.Printf("heap grows: %v, faults: ", after.TotalAlloc-before.TotalAlloc > most)
		if bytes := most * 3 / 2; faults < int64(bytes)/int64(page.Size()) || raceEnabled {
			fmt.Print("few")
		} else {
			fmt.Print(faults)
		}
		fmt.Println(", RSS grows:", rss > 16<<10 && !raceEnabled)
		return 0
	}
}

func oneSlice[T any](o *Options) *Arena {
	a := NewArenaWith(o)
	var b T
	n := largeBytes / int(unsafe.Sizeof(b))
	s := MakeSlice[T](a, n, n)
	clear(s) // touches it
	return a
}

// residentIn returns how many bytes of the slabs are in memory.
func residentIn(slabs [][]block) (n int) {
	for _, s := range slabs {
		r, err := page.RangeOf(s).Residency(nil)
		if err != nil {
			panic(err)
		}
		n += int(r.Resident + r.Swapped)
	}
	return n
}

// left says how much of the arena's memory, all of it blocks, is not resident any
// more right after the end, and whether a cycle takes it.
func left(o *Options, make func(o *Options) *Arena, end func(*Arena)) func() int {
	return func() int {
		a := make(o)
		var slabs [][]block
		for l := Of[block](a).stock().slabs; l != nil; l = l.link {
			slabs = append(slabs, l.buf)
		}
		discarded := residentIn(slabs)
		end(a)
		discards.Wait()
		discarded -= residentIn(slabs)
		fmt.Println("discarded:", max(0, discarded)) // it grows where a neighbor has touched a huge page
		clear(slabs)
		before := resident()
		debug.FreeOSMemory()
		debug.FreeOSMemory() // a register or the stack may have kept a slab
		fmt.Println("RSS falls after a cycle:", before-resident() > largeBytes/2/1024)
		return 0
	}
}
