package arena

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/foliomem/folio/internal/testenv"
	"github.com/foliomem/folio/page"
)

// inFreshProcess runs a role where no memory was used before, and compares what
// it prints.
func inFreshProcess(t *testing.T, role, want string) {
	t.Helper()
	if debugBuild {
		t.Skip("debug mode reuses no slabs")
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
	for _, role := range []string{"given back", "given back by Reset", "given back, one slice"} {
		inFreshProcess(t, role, "RSS falls: true")
	}
	inFreshProcess(t, "kept idle", "RSS falls: false")
	inFreshProcess(t, "kept for a moment", "RSS stays for a moment: true")
}

const largeBytes = 96 << 20

// block is large, so that touching every page takes little time.
type block struct {
	_    *block // the collector looks at it
	seed uint64
	_    [256 - 8 - unsafe.Sizeof(uintptr(0))]byte
}

func filled(o *Options) *Arena {
	a := NewArenaWith(o)
	h := Of[block](a)
	for range largeBytes / unsafe.Sizeof(block{}) {
		h.New().seed = 1
	}
	return a
}

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
			if s.Residency != nil || s.Resident < largeBytes*9/10 || s.Resident > s.Reserved || s.Used != largeBytes {
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
			fmt.Println("RSS falls:", before-resident() > largeBytes/2/1024)
			return 0
		}
	}
	roles["given back"] = rss(nil, filled, (*Arena).Free)
	roles["kept for a moment"] = func() int {
		falls := func(before int) bool { return before-resident() > largeBytes/2/1024 }
		kept := false
		for try := 0; try < 10 && !kept; try++ { // a busy machine may let a moment pass
			filled(nil).Free()
			a := filled(nil) // again
			before := resident()
			a.Free()
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
	roles["kept idle"] = rss(&Options{IdleBytes: 2 * largeBytes}, filled, (*Arena).Free)
	roles["given back by Reset"] = rss(nil, filled, (&Pool{}).Put)
	roles["given back, one slice"] = rss(nil, func(o *Options) *Arena {
		a := NewArenaWith(o)
		s := MakeSlice[block](a, largeBytes/256, largeBytes/256)
		for i := range s {
			s[i].seed = 1
		}
		return a
	}, (*Arena).Free)
}
