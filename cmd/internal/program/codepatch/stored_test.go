package codepatch

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/codepatch/fixture"
	"github.com/foliomem/folio/internal/test/testenv"
)

// stored returns the programs that cmd/bench/exec/versions has stored.
func stored(t testing.TB) []*fixture.Program {
	t.Helper()
	programs, err := fixture.Read("testdata/programs.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	return programs
}

// one returns a stored program, for the test alone.
func one(t testing.TB, name string) *fixture.Program {
	t.Helper()
	for _, p := range stored(t) {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no program %s is stored", name)
	return nil
}

// changed is a program with other code.
func changed(p *fixture.Program, edits []Edit, old bool) {
	for _, e := range edits {
		b := e.New
		if old {
			b = e.Old
		}
		for i, v := range b {
			p.Set(e.Address+uint64(i), v)
		}
	}
}

func TestEveryRelease(t *testing.T) {
	lines := []string{"go1.21.6", "go1.21.13", "go1.22.12", "go1.23.12", "go1.24.13", "go1.25.14", "go1.26.11", "go1.27.4"}
	ways := []string{"amd64 static", "amd64 pie", "amd64 cgo", "amd64 cgo, static pie", "amd64 race", "arm64 static",
		"arm64 pie", "arm64 cgo", "arm64 race"}
	seen := map[string]bool{}
	for _, p := range stored(t) {
		seen[p.Name] = true
		t.Run(p.Name, func(t *testing.T) {
			release, rest, _ := strings.Cut(p.Name, " ")
			arch, _, _ := strings.Cut(rest, " ")
			patch, err := Find(p)
			var refused *RefusedError
			if release == "go1.21.5" {
				if !errors.As(err, &refused) || refused.Kind != TooOld || !strings.Contains(refused.Why, "go1.21.5") ||
					!strings.Contains(refused.Why, "go1.21.6") {
					t.Fatalf("%v, want it refused as too old", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if patch.Applied || patch.GoVersion != release || patch.Arch != arch || patch.Movable != strings.Contains(p.Name, "pie") {
				t.Errorf("found %+v", patch)
			}
			checkEdits(t, p, patch)
			changed(p, patch.Edits, false)
			again, err := Find(p)
			if err != nil || !again.Applied {
				t.Fatalf("patched, it is not recognized: %v", err)
			}
			if !slices.EqualFunc(again.Edits, patch.Edits, func(a, b Edit) bool {
				return a.Address == b.Address && a.Offset == b.Offset && bytes.Equal(a.Old, b.Old) && bytes.Equal(a.New, b.New)
			}) {
				t.Errorf("patched, the edits are %x, were %x", again.Edits, patch.Edits)
			}
		})
	}
	for _, l := range lines {
		for _, w := range ways {
			if !seen[l+" "+w] {
				t.Errorf("%s %s is not stored", l, w)
			}
		}
	}
}

// checkEdits checks the two edits by what they do to the listing.
func checkEdits(t *testing.T, p *fixture.Program, patch *Patch) {
	t.Helper()
	a := processors[p.For]
	funcs, err := a.collect(p)
	if err != nil {
		t.Fatal(err)
	}
	fn := funcs[sysMapOS]
	before, err := a.list(p, fn, patch.Proof.MapOS.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	b := slices.Clone(patch.Proof.MapOS.Bytes)
	total := 0
	for _, e := range patch.Edits {
		at := e.Address - fn.Entry
		if !bytes.Equal(b[at:at+uint64(len(e.Old))], e.Old) || len(e.Old) != len(e.New) {
			t.Fatalf("edit %x does not fit the code", e)
		}
		copy(b[at:], e.New)
		for i := range e.Old {
			if e.Old[i] != e.New[i] {
				total++
			}
		}
	}
	if total > 8 {
		t.Errorf("%d bytes change", total)
	}
	after, err := a.list(p, fn, b)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{}
	for i, in := range before {
		switch {
		case i > 0 && a.branch(before[i-1].text) != "" && strings.HasPrefix(in.text, a.branch(before[i-1].text)):
			continue // it is gone
		case in.text == "call "+noHugePageOS:
			want = append(want, "call "+hugePageOS)
		default:
			want = append(want, in.text)
		}
	}
	if len(want) != len(before)-1 {
		t.Fatalf("%d instructions, want %d", len(want), len(before)-1)
	}
	for i, in := range after {
		// Numbers of instructions after the branch are one less.
		if got, w := in.text, want[i]; got != w && !sameJump(got, w) {
			t.Errorf("instruction %d is %q, want %q", i, got, w)
		}
	}
}

// sameJump tells whether a jump goes one instruction less far.
func sameJump(got, was string) bool {
	cut := func(s string) (string, int) {
		i := strings.LastIndexByte(s, ' ')
		n := 0
		if _, err := fmt.Sscan(s[i+1:], &n); err != nil {
			return s, -1
		}
		return s[:i], n
	}
	a, n := cut(got)
	b, m := cut(was)
	return a == b && n >= 0 && m == n+1
}

// TestNoOtherCodeIsAccepted changes each byte of the functions, to all that it
// can be: what is still accepted does the same, and gets the same edits.
func TestNoOtherCodeIsAccepted(t *testing.T) {
	testenv.Alone(t)
	names := []string{"go1.21.6 amd64 static", "go1.27.4 amd64 pie", "go1.24.13 arm64 static", "go1.27.4 arm64 cgo"}
	if !testenv.Full() {
		names = names[:1]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			p := one(t, name)
			patch, err := Find(p)
			if err != nil {
				t.Fatal(err)
			}
			refused, accepted := 0, 0
			for _, c := range []Code{patch.Proof.MapOS, patch.Proof.NoHugePageOS, patch.Proof.HugePageOS} {
				for i, was := range c.Bytes {
					for _, v := range values(was) {
						p.Set(c.Address+uint64(i), v)
						got, err := Find(p)
						if err != nil {
							refused++
							continue
						}
						accepted++
						if got.Applied || fmt.Sprintf("%x", got.Edits) != fmt.Sprintf("%x", patch.Edits) ||
							got.Proof.DisableTHP != patch.Proof.DisableTHP || got.Proof.Madvise != patch.Proof.Madvise {
							t.Fatalf("%s+%#x = %#x (was %#x): accepted with %x, %+v", c.Name, i, v, was, got.Edits, got.Proof)
						}
					}
					p.Set(c.Address+uint64(i), was)
				}
			}
			// Accepted is other padding, and another variable or constant for one
			// that is not named.
			if refused < 5*accepted {
				t.Errorf("%d changes refused, %d accepted", refused, accepted)
			}
		})
	}
}

// values are others than was: all single bits, and some more.
func values(was byte) []byte {
	out := []byte{^was, was + 1, was - 1, 0x90, 0xcc, 0}
	for b := range 8 {
		out = append(out, was^1<<b)
	}
	return slices.DeleteFunc(out, func(v byte) bool { return v == was })
}

func TestRefused(t *testing.T) {
	const name = "go1.26.11 amd64 static"
	for _, c := range []struct {
		what   string
		change func(t *testing.T, p *fixture.Program, good *Patch)
		kind   Kind
		says   []string
	}{
		{"too old", func(_ *testing.T, p *fixture.Program, _ *Patch) { p.Version = "go1.20.14" }, TooOld, []string{"go1.20.14", "from go1.21.6"}},
		{"another processor", func(_ *testing.T, p *fixture.Program, _ *Patch) { p.For = 243 }, Arch, []string{"RISCV", "amd64 and arm64"}},
		{"a relocatable file", func(_ *testing.T, p *fixture.Program, _ *Patch) { p.Kind = 1 }, NotELF, []string{"REL"}},
		{"obfuscated names", func(_ *testing.T, p *fixture.Program, _ *Patch) {
			for i := range p.Code {
				p.Code[i].Name = "runtime.aX" + string(rune('a'+i))
			}
		}, Unreadable, []string{"no function runtime.", "garble"}},
		{"inlined into its caller", func(t *testing.T, p *fixture.Program, _ *Patch) {
			// The call of sysMapOS in sysMap goes to another function.
			rename(t, p, sysMapOS, "runtime.other")
			p.Code = append(p.Code, fixture.Func{Name: sysMapOS, Entry: 0x10, End: 0x20, Bytes: strings.Repeat("90", 16)})
		}, UnknownForm, []string{"runtime.sysMap does not call runtime.sysMapOS"}},
		{"a form that nobody has seen", func(_ *testing.T, p *fixture.Program, good *Patch) {
			p.Version = "go1.29.1"
			p.Set(good.Proof.HugePageOS.Address+uint64(bytes.Index(good.Proof.HugePageOS.Bytes, []byte{0x0e, 0, 0, 0})), 0x0f)
		}, UnknownForm, []string{"runtime.sysHugePageOS of go1.29.1", "not known", `"mov 4:[rsp+0x10], 0xf"`, `"mov 4:[rsp+0x10], 0xe"`}},
		{"another variable", func(_ *testing.T, p *fixture.Program, _ *Patch) { clear(p.Places) }, UnknownForm,
			[]string{"disablethp", "dbgvars"}},
		{"a variable of another name", func(_ *testing.T, p *fixture.Program, _ *Patch) {
			for at := range p.Text {
				p.Text[at] = hex.EncodeToString([]byte("dontfreeze"))
			}
		}, UnknownForm, []string{"disablethp"}},
		{"another madvise", func(t *testing.T, p *fixture.Program, good *Patch) {
			// The call in sysHugePageOS goes 16 bytes further, to a function of
			// the same name.
			b := good.Proof.HugePageOS.Bytes
			a := processors[p.For]
			l, err := a.list(p, mustCollect(t, a, p)[hugePageOS], b)
			if err != nil {
				t.Fatal(err)
			}
			call := l[l.calls(madvise)[0]]
			p.Names[call.target+16] = madvise
			to, _ := callAMD64(call.address, call.target+16)
			for i, v := range to {
				p.Set(call.address+uint64(i), v)
			}
		}, UnknownForm, []string{"same runtime.madvise"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			good, err := Find(one(t, name))
			if err != nil {
				t.Fatal(err)
			}
			p := one(t, name)
			c.change(t, p, good)
			_, err = Find(p)
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.Kind != c.kind {
				t.Fatalf("%v, want kind %d", err, c.kind)
			}
			for _, s := range c.says {
				if !strings.Contains(refused.Why, s) {
					t.Errorf("%q does not say %q", refused.Why, s)
				}
			}
			if strings.Contains(refused.Why, "\n") {
				t.Errorf("more than a line: %q", refused.Why)
			}
		})
	}
}

// TestGrowInlined: a profile (PGO) makes grow a part of its caller, which then calls sysMap.
func TestGrowInlined(t *testing.T) {
	for _, name := range []string{"go1.27.4 amd64 static", "go1.26.11 arm64 static"} {
		good, err := Find(one(t, name))
		if err != nil {
			t.Fatal(err)
		}
		p := one(t, name)
		rename(t, p, heapGrow, heapAlloc)
		patch, err := Find(p)
		if err != nil || fmt.Sprintf("%x", patch.Edits) != fmt.Sprintf("%x", good.Edits) {
			t.Errorf("%s: %+v, %v; want the edits %x", name, patch, err, good.Edits)
		}
		// The caller is not proof where it maps the heap in another way.
		p = one(t, name)
		rename(t, p, heapGrow, "runtime.other")
		p.Code = append(p.Code, fixture.Func{Name: heapAlloc, Entry: 0x10, End: 0x20, Bytes: strings.Repeat("1f2003d5", 4)})
		var refused *RefusedError
		if _, err := Find(p); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
}

func mustCollect(t *testing.T, a *processor, img Image) functions {
	t.Helper()
	funcs, err := a.collect(img)
	if err != nil {
		t.Fatal(err)
	}
	return funcs
}

func rename(t *testing.T, p *fixture.Program, from, to string) {
	t.Helper()
	for i := range p.Code {
		if p.Code[i].Name == from {
			p.Code[i].Name = to
			return
		}
	}
	t.Fatalf("no %s", from)
}

// TestALaterReleaseOfTheSameForm is accepted: what is checked is all that the
// edits rely on, and the release is not part of it.
func TestALaterReleaseOfTheSameForm(t *testing.T) {
	for _, v := range []string{"go1.31.2", "devel go1.29-abcdef", "", "go1.26.11 X:nogreenteagc", "go1.26.11-acme"} {
		p := one(t, "go1.26.11 amd64 static")
		p.Version = v
		if _, err := Find(p); err != nil {
			t.Errorf("%q: %v", v, err)
		}
	}
}

// FuzzCode changes code: whatever is accepted gets the edits of the program as
// it was.
func FuzzCode(f *testing.F) {
	programs := stored(f)
	f.Add(uint16(3), uint16(0), uint32(20), []byte{0x90})
	f.Add(uint16(40), uint16(2), uint32(40), []byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, which, function uint16, at uint32, data []byte) {
		p := *programs[int(which)%len(programs)]
		p.Code = slices.Clone(p.Code)
		good, err := Find(&p)
		if err != nil {
			return
		}
		c := p.Code[int(function)%len(p.Code)]
		for i, v := range data {
			p.Set(c.Entry+uint64(at%2048)+uint64(i), v)
		}
		got, err := Find(&p)
		if err == nil && !got.Applied && fmt.Sprintf("%x", got.Edits) != fmt.Sprintf("%x", good.Edits) {
			t.Errorf("accepted with %x, not %x", got.Edits, good.Edits)
		}
	})
}
