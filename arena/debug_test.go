package arena

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

const debugEnv = "FOLIO=goheap=off,arenadebug=on"

func TestDebugFromEnv(t *testing.T) {
	for env, want := range map[string]string{
		"":                             "false",
		"arenadebug=on":                "true",
		"arenadebug=1":                 "false: arena: FOLIO: arenadebug=1: want on or off",
		"arenadebug=off":               "false",
		" goheap=x, arenadebug=on ,":   "true",
		"arenadebug=on,arenadebug=off": "false",
		"arenadebugger=1":              "false",
		"arenadebug":                   "true",
		"arenadebug=maybe":             "false: arena: FOLIO: arenadebug=maybe: want on or off",
		"arenadebug=on,arenadebug=?":   "true: arena: FOLIO: arenadebug=?: want on or off",
	} {
		complaint := ""
		got := fmt.Sprint(debugFromEnv(env, func(err error) { complaint += ": " + err.Error() })) + complaint
		if got != want {
			t.Errorf("FOLIO=%q: %s, want %s", env, got, want)
		}
	}
}

func FuzzDebugFromEnv(f *testing.F) {
	f.Add("arenadebug=on,x")
	f.Fuzz(func(t *testing.T, env string) {
		on := debugFromEnv(env, func(error) {})
		if on && !strings.Contains(strings.ToLower(env), "arenadebug") {
			t.Errorf("FOLIO=%q turns debug mode on", env)
		}
		// Whatever stands before, the last setting that can be read counts.
		if debugFromEnv(env+",arenadebug=off", func(error) {}) {
			t.Errorf("FOLIO=%q,arenadebug=off turns debug mode on", env)
		}
	})
}

// wantDangling runs a program in debug mode that keeps a pointer.
func wantDangling(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("%d reports, want 1", code)
	}
	for _, want := range []string{`arena "trees"`, "after Free", "10 values of type main.node", "in 1 slabs",
		"main.build\n", "main.main\n", "main.go:15", "main.go:24"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
}

func TestDebugReportsWhatIsKept(t *testing.T) {
	bin := t.TempDir() + "/dangling"
	goTool(t, "build", "-o", bin, "./testdata/dangling")
	cmd := exec.Command(bin)
	cmd.Env = append(os.Environ(), debugEnv)
	wantDangling(t, cmd)

	cmd = exec.Command(bin)
	cmd.Env = append(os.Environ(), "FOLIO=")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("outside debug mode: %v\n%s", err, out)
	}
}

// Debug mode waits for the program's own GC cycles, too.
func TestDebugReportsByItself(t *testing.T) {
	for role, want := range map[string]string{
		"kept past Reset": "How:Reset 3 of arena.linked",
		"kept past Put":   "How:Put 3 of arena.linked",
		"kept by a slice": "How:Free 100 of uint8",
		"clean":           "",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			out, err := child(t, role, debugEnv)
			if got := strings.TrimSpace(out); err != nil || got != want {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		})
	}
}

var keep any

func init() {
	const clean, kept = 200, 20_000 // MiB of garbage at most, to see that nothing comes, or until it does
	reported := func(rounds int, use func()) func() int {
		return func() int {
			reports := make(chan Dangling, 10)
			OnDangling(func(d Dangling) { reports <- d })
			use()
			for range rounds {
				garbage := make([]*[1 << 10]byte, 1<<10)
				for i := range garbage {
					garbage[i] = new([1 << 10]byte)
				}
				runtime.KeepAlive(garbage) // the GC runs by itself
				select {
				case d := <-reports:
					fmt.Printf("How:%s %d of %s\n", d.How, d.Objects, d.Type)
					return 0
				default:
				}
			}
			CheckDangling()
			if len(reports) > 0 {
				fmt.Printf("%v\n", <-reports)
			}
			return 0
		}
	}
	three := func(end func(*Arena)) func() {
		return func() {
			a := NewArena()
			for range 3 {
				keep = New[linked](a)
			}
			end(a)
		}
	}
	roles["kept past Reset"] = reported(kept, three((*Arena).Reset))
	roles["kept past Put"] = reported(kept, three(new(Pool).Put))
	roles["kept by a slice"] = reported(kept, func() {
		a := NewArena()
		keep = MakeSlice[byte](a, 100, 100)[50:60]
		a.Free()
	})
	roles["clean"] = reported(clean, func() {
		three((*Arena).Free)()
		keep = nil
		a := NewArena()
		keep = Of[linked](a) // a handle holds nothing
		a.Free()
	})
}

func TestMisusePanics(t *testing.T) {
	for name, c := range map[string]struct {
		use  func(a *Arena, h *Handle[linked])
		want string
	}{
		"double Free":        {func(a *Arena, h *Handle[linked]) { a.Free(); a.Free() }, "arena: Free after Free"},
		"New after Free":     {func(a *Arena, h *Handle[linked]) { a.Free(); New[linked](a) }, "arena: allocation after Free"},
		"Handle after Free":  {func(a *Arena, h *Handle[linked]) { a.Free(); h.New() }, "arena: allocation after Free"},
		"Append after Free":  {func(a *Arena, h *Handle[linked]) { a.Free(); Append(a, make([]int, 0, 1), 1) }, "arena: Append after Free"},
		"Reset after Free":   {func(a *Arena, h *Handle[linked]) { a.Free(); a.Reset() }, "arena: Reset after Free"},
		"Put after Free":     {func(a *Arena, h *Handle[linked]) { a.Free(); new(Pool).Put(a) }, "arena: Put after Free"},
		"Put twice":          {func(a *Arena, h *Handle[linked]) { p := new(Pool); p.Put(a); p.Put(a) }, "arena: Put after Put"},
		"Free after Put":     {func(a *Arena, h *Handle[linked]) { new(Pool).Put(a); a.Free() }, "arena: Free after Put"},
		"Handle after Put":   {func(a *Arena, h *Handle[linked]) { new(Pool).Put(a); h.New() }, "arena: allocation after Put"},
		"negative len":       {func(a *Arena, h *Handle[linked]) { MakeSlice[int](a, -1, 1) }, "arena: MakeSlice: len or cap out of range"},
		"len beyond cap":     {func(a *Arena, h *Handle[linked]) { MakeSlice[int](a, 2, 1) }, "arena: MakeSlice: len or cap out of range"},
		"more than there is": {func(a *Arena, h *Handle[linked]) { MakeSlice[int](a, 1, maxInt) }, "runtime error: makeslice: len out of range"},
		"Clone of a number":  {func(a *Arena, h *Handle[linked]) { Clone(1) }, "arena: Clone only supports pointers, slices, and strings"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				got := fmt.Sprint(recover())
				text, history, _ := strings.Cut(got, "\n")
				if text != c.want && !(debugging && strings.Contains(text, " after ")) {
					t.Errorf("panic %q, want %q", text, c.want)
				}
				if detail := strings.Contains(history, "the arena was made by\n\t") &&
					strings.Contains(history, "was called by\n\t"); detail != (debugging && strings.Contains(text, " after ")) {
					t.Errorf("details: %v\n%s", detail, history)
				}
			}()
			a := NewArena()
			h := Of[linked](a)
			h.New()
			c.use(a, h)
		})
	}
}

// All other tests are clean: in debug mode none may be reported.
func TestDebugModeReportsNothingForCleanPrograms(t *testing.T) {
	if debugging {
		t.Skip("this is debug mode")
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^Test(Model|RandomPrograms|Misuse.*|HeapPointers.*|Memory.*|Pointers.*|Pool.*|Slice.*|Append.*|Clone.*|Stats.*|Many.*)$", "-test.v")
	// A goroutine that is preempted at any place is scanned conservatively: what is dead on its
	// stack may keep memory then.
	cmd.Env = append(os.Environ(), debugEnv, "GODEBUG=asyncpreemptoff=1", "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestRandomPrograms") || strings.Contains(string(out), "still reachable") {
		t.Errorf("%v\n%s", err, out)
	}
}

// What Free itself holds, while its goroutine waits for a CPU, is not reported.
func TestQuarantineWaitsForFree(t *testing.T) {
	var reports atomic.Int32
	q := &quarantine{report: func(Dangling) { reports.Add(1) }}
	var r record
	r.end("Free")
	q.add(&suspect{record: r, objects: 1, alive: func() bool { return true }})
	look := func() int32 {
		for range patience {
			runtime.GC()
		}
		q.inspect()
		return reports.Load()
	}
	if n := look(); n != 0 {
		t.Fatalf("%d reports before Free has returned", n)
	}
	r.ended()
	if n := look(); n != 1 {
		t.Errorf("%d reports after it, want 1", n)
	}
}
