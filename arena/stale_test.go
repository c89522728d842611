package arena

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// stale is what a program kept of an arena that is over, or was reset.
type stale struct {
	a      *Arena
	h      *Handle[linked]
	values []linked // with room
}

// staleUses are all that can be done with it, as the package documentation lists them.
// Each line of the list is one row of staleTable.
var staleUses = []struct {
	line int
	name string
	use  func(s *stale)
}{
	{0, "New", func(s *stale) { New[linked](s.a) }},
	{0, "New of another type", func(s *stale) { New[[3]int16](s.a) }},
	{0, "New of no size", func(s *stale) { New[struct{}](s.a) }},
	{0, "Of", func(s *stale) { Of[linked](s.a) }},
	{0, "Of another type", func(s *stale) { Of[[3]int16](s.a) }},
	{0, "MakeSlice", func(s *stale) { MakeSlice[linked](s.a, 1, 2) }},
	{0, "MakeSlice of nothing", func(s *stale) { MakeSlice[linked](s.a, 0, 0) }},
	{0, "MakeSlice larger than a slab", func(s *stale) { MakeSlice[linked](s.a, 1<<20, 1<<20) }},
	{0, "Append without room", func(s *stale) { Append(s.a, s.values[:1:1], linked{}) }},
	{0, "Append with room", func(s *stale) { Append(s.a, s.values, linked{}) }},
	{0, "Append to nil", func(s *stale) { Append(s.a, nil, linked{}) }},
	{0, "Append of nothing", func(s *stale) { Append(s.a, s.values) }},
	{0, "AppendSlice without room", func(s *stale) { AppendSlice(s.a, s.values[:1:1], make([]linked, 9)) }},
	{0, "AppendSlice with room", func(s *stale) { AppendSlice(s.a, s.values, make([]linked, 1)) }},
	{0, "AppendSlice of nothing", func(s *stale) { AppendSlice[linked](s.a, nil, nil) }},
	{0, "String", func(s *stale) { String(s.a, "text") }},
	{0, "String of nothing", func(s *stale) { String(s.a, "") }},
	{0, "Bytes", func(s *stale) { Bytes(s.a, []byte("text")) }},
	{0, "Bytes of nothing", func(s *stale) { Bytes(s.a, nil) }},
	{1, "Handle.New", func(s *stale) { s.h.New() }},
	{1, "Handle.New, again and again", func(s *stale) {
		for range 5000 {
			s.h.New()
		}
	}},
	{2, "Free", func(s *stale) { s.a.Free() }},
	{2, "Reset", func(s *stale) { s.a.Reset() }},
	{2, "Put", func(s *stale) { new(Pool).Put(s.a) }},
	{3, "Stats", func(s *stale) {
		if st := s.a.Stats(); st == (Stats{}) {
			panic("zeros")
		}
	}},
	{4, "read, write", func(s *stale) {
		for i := range s.values {
			s.values[i].seed += s.values[i].seed
			s.values[i].next = &s.values[0]
		}
	}},
	{4, "Clone of a pointer", func(s *stale) { Clone(&s.values[0]) }},
	{4, "Clone of a slice", func(s *stale) { Clone(s.values) }},
	{4, "append with room", func(s *stale) { _ = append(s.values, linked{}) }},
	{4, "Append with room in another arena", func(s *stale) {
		b := NewArena()
		Append(b, s.values, linked{})
		b.Free()
	}},
}

// staleTable is what the package documentation says, line by line.
var staleTable = []struct{ uses, free, put, reset string }{
	{"New, Of, MakeSlice, Append, AppendSlice, String, Bytes", "panics", "panics", "works"},
	{"New of a handle that was kept", "panics", "panics", "works"},
	{"Free, Reset, Pool.Put", "panics", "panics", "works"},
	{"Stats", "zeros", "zeros", "works"},
	{"reading, writing, append, Clone of what was kept", "undetected", "undetected", "undetected"},
}

// staleArenas are arenas with all that makes a difference.
func staleArenas() map[string]*stale {
	keep := func(a *Arena, first func(a *Arena)) *stale {
		first(a)
		s := &stale{a: a, h: Of[linked](a)}
		s.h.New()
		s.values = MakeSlice[linked](a, 2, 4)
		return s
	}
	one := func(*Arena) {}
	two := func(a *Arena) { New[string](a) }
	many := func(a *Arena) { manyTypes(a) }
	large := func(a *Arena) { MakeSlice[linked](a, 1<<18, 1<<18); New[string](a) }
	var p Pool
	p.Put(keep(p.Get(), many).a)
	return map[string]*stale{
		"one type":         keep(NewArena(), one),
		"zero Arena":       keep(new(Arena), one),
		"two types":        keep(NewArena(), two),
		"many types":       keep(NewArena(), many),
		"large":            keep(NewArena(), large),
		"with options":     keep(NewArenaWith(&Options{Name: "named"}), one),
		"from a pool":      keep(p.Get(), one),
		"reset before":     keep(NewArena(), func(a *Arena) { New[linked](a); a.Reset() }),
		"of a small class": keep(NewArenaWith(&Options{SlabBytes: 4096, NoIdle: true}), many),
	}
}

// TestStaleUse does with arenas that are over, and what was kept of them, all
// that can be done, and looks that the package documentation says what happens.
func TestStaleUse(t *testing.T) {
	if debugging {
		if n := CheckDangling(); n > 0 {
			t.Errorf("other tests left %d reports", n)
		}
		OnDangling(func(Dangling) {}) // here they are due
		defer OnDangling(nil)
		defer CheckDangling()
	}
	var p Pool
	var other *Arena
	for _, end := range []struct {
		name, panics string
		end          func(a *Arena)
		want         func(line int) string
	}{
		{"Free", " after Free", (*Arena).Free, func(i int) string { return staleTable[i].free }},
		{"Put", " after Put", p.Put, func(i int) string { return staleTable[i].put }},
		{"Put, then Get", " after Put", func(a *Arena) {
			p.Put(a)
			other = p.Get()
			Of[linked](other).New().seed = 7
		}, func(i int) string { return staleTable[i].put }},
		{"Reset", "", (*Arena).Reset, func(i int) string { return staleTable[i].reset }},
	} {
		for _, u := range staleUses {
			for what, s := range staleArenas() {
				end.end(s.a)
				got, text := outcome(func() { u.use(s) })
				if want := strings.Replace(end.want(u.line), "undetected", "works", 1); got != want {
					t.Errorf("%s, %s after %s: %s %s, want %s", what, u.name, end.name, got, text, want)
				}
				if first, _, _ := strings.Cut(text, "\n"); got == "panics" && (!strings.HasPrefix(text, "arena: ") ||
					!strings.HasSuffix(first, end.panics)) {
					t.Errorf("%s, %s after %s: panic %q, want arena: ...%s", what, u.name, end.name, first, end.panics)
				}
			}
		}
	}
	if s := other.Stats(); s.Objects != 1 {
		t.Errorf("the arena that came after has %d values, want 1", s.Objects)
	}
}

// outcome says what use does: works, panics, or zeros.
func outcome(use func()) (what, text string) {
	what = "works"
	defer func() {
		if r := recover(); r != nil {
			if what, text = "panics", fmt.Sprint(r); text == "zeros" {
				what = text
			}
		}
	}()
	use()
	return what, ""
}

func TestStaleUseInDebugMode(t *testing.T) {
	if debugging {
		t.Skip("TestStaleUse does it")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestStaleUse$", "-test.v")
	cmd.Env = append(os.Environ(), debugEnv, "GORACE=atexit_sleep_ms=0")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestStaleUse") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The package documentation has the table that TestStaleUse checks.
func TestDocStaleUse(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("//\t%-56s %-12s %-11s %s\n", "", "after Free", "after Put", "after Reset")
	for _, l := range staleTable {
		want += fmt.Sprintf("//\t%-56s %-12s %-11s %s\n", l.uses, l.free, l.put, l.reset)
	}
	if !strings.Contains(string(doc), want) {
		t.Errorf("doc.go lacks\n%s", want)
	}
}

// TestStaleHandles: a handle that was kept panics whatever its type, used or not, the
// first of its arena or a later one.
func TestStaleHandles(t *testing.T) {
	staleHandle[struct{}](t)
	staleHandle[byte](t)
	staleHandle[linked](t)
	staleHandle[string](t)
	staleHandle[[1 << 16]*int](t)
	staleHandle[[5 << 20]byte](t) // larger than a slab
}

func staleHandle[T any](t *testing.T) {
	var p Pool
	for name, end := range map[string]func(a *Arena){"Free": (*Arena).Free, "Put": p.Put} {
		for _, used := range []int{0, 1, 3} {
			for _, first := range []bool{true, false} {
				a := NewArena()
				if !first {
					New[[3]int16](a)
				}
				h := Of[T](a)
				for range used {
					h.New()
				}
				end(a)
				if got, text := outcome(func() { h.New() }); got != "panics" || !strings.HasPrefix(text, "arena: allocation after "+name) {
					t.Errorf("%T, used %d times, first %v: New after %s: %s %q", *new(T), used, first, name, got, text)
				}
			}
		}
	}
}
