package auto

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/gctune"
	"github.com/foliomem/folio/goheap"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
	"github.com/foliomem/folio/page"
)

func TestRead(t *testing.T) {
	on := settings{heap: true, gc: true, options: goheap.Options{ReserveMode: goheap.ReserveAdaptive}}
	with := func(change func(*settings)) settings { s := on; change(&s); return s }
	for env, want := range map[string]settings{
		"":                              on,
		"off":                           {},
		"off=on,heap=reserve":           {},
		"all=off":                       {},
		"off=off":                       on,
		"arenadebug=on":                 on,
		"log=on":                        with(func(s *settings) { s.log = true }),
		"heap=off,gc=off":               with(func(s *settings) { s.heap, s.gc = false, false }),
		"percpu=2GiB":                   with(func(s *settings) { s.memoryPerCPU = 2 << 30 }),
		"percpu=0":                      with(func(s *settings) { s.memoryPerCPU = math.MaxUint64 }),
		"secondp=off":                   on,
		"secondp=gc":                    with(func(s *settings) { s.secondP = gctune.SecondPGC }),
		"secondp=sweep":                 with(func(s *settings) { s.secondP = gctune.SecondPSweep }),
		"gc=off":                        with(func(s *settings) { s.gc = false }),
		"reserve=4GiB":                  with(func(s *settings) { s.options.Reserve, s.options.ReserveMode = 4<<30, goheap.ReserveFixed }),
		"reserve=0":                     with(func(s *settings) { s.options.ReserveMode = goheap.ReserveFixed }),
		"reserve=1GiB,reserve=adaptive": on,
		"reserve=limit":                 with(func(s *settings) { s.options.ReserveMode = goheap.ReserveLimit }),
		"heap=reserve":                  with(func(s *settings) { s.options.ReserveMode, s.options.NoCollapse = goheap.ReserveLimit, true }),
		"heap=reserve,reserve=adaptive": with(func(s *settings) { s.options.NoCollapse = true }),
		"heap=reserve,reserve=1MiB":     with(func(s *settings) { s.options = goheap.Options{Reserve: 1 << 20, NoCollapse: true} }),
		"heap=collapse,minheap=0,density=0.9,bloat=0.1,budget=0.5,release=off": with(func(s *settings) {
			s.options = goheap.Options{ReserveMode: goheap.ReserveAdaptive, MinHeap: 1, MinDensity: 0.9, MaxBloat: 0.1, Budget: 0.5, NoRelease: true}
		}),
	} {
		got, wrong := read(env)
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || wrong != nil {
			t.Errorf("%q: %+v, %v", env, got, wrong)
		}
	}
	for env, text := range map[string]string{
		"huge=1":      "FOLIO: huge=1: no such setting: want off, heap, ",
		"secondp=1":   "FOLIO: secondp=1: want sweep, gc or off",
		"heap=always": "FOLIO: heap=always: want collapse, reserve or off",
		"reserve=-1":  "FOLIO: reserve=-1: want a size",
		"density=0.1": "FOLIO: density=0.1: want a number from 0.5 to 1",
		"gc=maybe":    "FOLIO: gc=maybe: want on or off",
		"=x":          "FOLIO: =x: no such setting",
	} {
		got, wrong := read(env + ",log=on")
		if len(wrong) != 1 || !strings.HasPrefix(wrong[0].Error(), text) || !got.heap || !got.gc || !got.log {
			t.Errorf("%q: %+v, %v", env, got, wrong)
		}
	}
}

// TestTable holds the table of the documentation to the code.
func TestTable(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "meaning\n")
	var rows []string
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z]+)`).FindAllStringSubmatch(table, -1) {
		rows = append(rows, m[1])
	}
	if !slices.Equal(rows, keys) {
		t.Errorf("the table has %v, the code %v", rows, keys)
	}
	guide, err := os.ReadFile("../docs/goheap.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if !strings.Contains(string(guide), "`"+key) {
			t.Errorf("the guide does not name %s", key)
		}
	}
	for _, key := range keys {
		for _, err := range second(read(key + "=?")) {
			if strings.Contains(err.Error(), "no such") {
				t.Error(err)
			}
		}
	}
}

func second[A, B any](_ A, b B) B { return b }

func FuzzRead(f *testing.F) {
	f.Add("heap=collapse,reserve=4GiB,log=on")
	f.Fuzz(func(t *testing.T, env string) {
		s, wrong := read(env)
		for _, err := range wrong {
			if !strings.HasPrefix(err.Error(), "FOLIO: ") {
				t.Error(err)
			}
		}
		if s.options.Reserve < 0 {
			t.Errorf("%+v", s)
		}
	})
}

// state is what a program with the import says about itself.
type state struct {
	Heap, Tuner bool
	Unmet       uint64 // of the tuner
	Stats       goheap.Stats
	Error       string
	Locked, RSS uint64 // when all memory had been locked, and at the end, in bytes
}

// lockAll locks all memory, and waits until the reserve is released. nil where there is
// no mlockall.
var lockAll func() (locked, end uint64)

func TestMain(m *testing.M) {
	if os.Getenv(testenv.RoleEnv) == "" {
		if r := program; r.heap != nil {
			r.heap.Stop()
		}
		os.Exit(m.Run())
	}
	s := state{Heap: Heap() != nil, Tuner: Tuner() != nil}
	if os.Getenv(testenv.RoleEnv) == "grow" && s.Heap {
		var keep [][]byte
		for len(keep) < 600 {
			b := bytes.Repeat([]byte{1}, 1<<20)
			keep = append(keep, b)
		}
		for end := time.Now().Add(testenv.Patience); time.Now().Before(end) && Heap().Stats().Coverage() < 0.8; {
			time.Sleep(10 * time.Millisecond)
		}
		runtime.KeepAlive(keep)
		s.Stats = Heap().Stats()
		if s.Tuner {
			s.Unmet = Tuner().Stats().Unmet
		}
		if s.Stats.Err != nil {
			s.Error = s.Stats.Err.Error()
		}
		s.Stats.Err, s.Stats.Windows.Reason = nil, nil
	}
	if lockAll != nil && os.Getenv(testenv.RoleEnv) == "lock" {
		s.Locked, s.RSS = lockAll()
	}
	_ = json.NewEncoder(os.Stdout).Encode(s)
	os.Exit(0)
}

// defaults turns the import on, which is off in a test binary, and sets nothing.
const defaults = "all=on"

func role(t *testing.T, name, env string, more ...string) (s state, stderr string) {
	t.Helper()
	out, errs := testenv.RunRole(t, name, append(more, "FOLIO="+env)...)
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return s, errs
}

func TestProgram(t *testing.T) {
	for env, want := range map[string]string{
		"":                       "false false ", // a test binary
		"off":                    "false false ",
		"heap=off":               "false true ",
		"heap=off,arenadebug=on": "false true ",
		"off,huge=1":             "false false ",
		"heap=off,gc=off,huge=1": "false false folio: FOLIO: huge=1: no such setting: want " + strings.Join(keys, ", ") + "\n",
	} {
		s, stderr := role(t, "start", env)
		if got := fmt.Sprint(s.Heap, " ", s.Tuner, " ", stderr); got != want {
			t.Errorf("FOLIO=%s: %q, want %q", env, got, want)
		}
	}
}

// TestDefaults: a heap that has grown is on huge pages soon, with no setting.
func TestDefaults(t *testing.T) {
	r, err := goheap.Start(&goheap.Options{MinWait: time.Hour})
	if errors.Is(err, page.ErrNotSupported) || err != nil && strings.Contains(err.Error(), "PR_SET_THP_DISABLE") {
		testenv.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Stop()
	s, stderr := role(t, "grow", defaults)
	if !s.Heap || s.Stats.Coverage() < 0.8 || stderr != "" {
		t.Errorf("%+v\n%s", s, stderr)
	}
	t.Logf("%+v", s)
}

// TestReserveWithinALimit: within a memory limit the import reserves by itself, and the tuner
// does not take the reserve for memory of the program. With reserve=0 it does not, nor does
// it without a limit.
func TestReserveWithinALimit(t *testing.T) {
	testenv.Long(t)
	if err := page.Allowed(page.THP); err != nil {
		testenv.Missing(t, "%v", err)
	}
	if thp, err := procmem.New("").THP(); err != nil || thp.Enabled.Selected != "madvise" {
		testenv.Missing(t, "the THP policy is not madvise")
	}
	const limit = "GOMEMLIMIT=2GiB"
	s, stderr := role(t, "grow", defaults, limit)
	if n := s.Stats.Reserved.Len(); n == 0 || n > 2<<30 || s.Stats.Advised.Len() == 0 || s.Unmet != 0 || stderr != "" {
		t.Errorf("%+v\n%s", s, stderr)
	}
	if s, _ := role(t, "grow", "reserve=0", limit); s.Stats.Reserved.Len() != 0 {
		t.Errorf("reserve=0: %+v", s)
	}
	if _, limited, err := procmem.New("").MemoryLimit(0); err == nil && !limited {
		if s, _ := role(t, "grow", defaults); s.Stats.Reserved.Len() != 0 {
			t.Errorf("without a limit: %+v", s)
		}
	}
}
