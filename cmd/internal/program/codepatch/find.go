package codepatch

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// The functions that the checks are about.
const (
	heapGrow     = "runtime.(*mheap).grow"
	heapAlloc    = "runtime.(*mheap).allocSpan" // its caller, of which it is a part where a profile says so (PGO)
	sysMap       = "runtime.sysMap"
	sysMapOS     = "runtime.sysMapOS"
	noHugePageOS = "runtime.sysNoHugePageOS"
	hugePageOS   = "runtime.sysHugePageOS"
	osyield      = "runtime.osyield"
	madvise      = "runtime.madvise"
)

// A processor is what the checks need to know of one.
type processor struct {
	name string // GOARCH
	// list decodes a function.
	list func(img Image, fn symbol.Func, code []byte) (listing, error)
	// uses lists what a function calls and refers to, also one with
	// instructions that list does not know.
	uses func(fn symbol.Func, code []byte) ([]use, error)
	// branch is the instruction after a test of a variable, without its target;
	// "" if this is not such a test.
	branch func(test string) string
	// nop does nothing in the place of the branch, which branchCode encodes: it
	// belongs to this test and skips so many bytes.
	nop        []byte
	branchCode func(test []byte, skip int64) ([]byte, bool)
	// call is the instruction at from that calls to.
	call func(from, to uint64) ([]byte, bool)
	// yield is the whole code of runtime.osyield, and where in it the system
	// call is.
	yield   []byte
	syscall uint64
}

// functions are those that were looked for, by name.
type functions map[string]symbol.Func

// maxFunctions is beyond the end of the runtime in every program.
const maxFunctions = 1 << 20

// maxCode is more than any of the functions takes.
const maxCode = 8 << 10

// collect finds the functions by the program's own table.
func (a *processor) collect(f Image) (functions, error) {
	want := Functions()
	out := functions{}
	n := 0
	for fn := range f.Funcs() {
		if n++; n > maxFunctions || len(out) == len(want) {
			break
		}
		if !strings.HasPrefix(fn.Name, "runtime.") || !slices.Contains(want, fn.Name) {
			continue
		}
		if fn.Name == osyield && !a.yields(f, fn) {
			continue // its wrapper for Go code has the same name
		}
		out[fn.Name] = fn
	}
	if _, ok := out[heapGrow]; !ok && out[heapAlloc].Entry != 0 {
		out[heapGrow] = out[heapAlloc]
	}
	for _, name := range want {
		if _, ok := out[name]; !ok && name != heapAlloc {
			return nil, refuse(Unreadable, "it has no function %s (%s, %d functions): its names are obfuscated (garble), or its runtime is another one", name, said(f.GoVersion()), n)
		}
	}
	return out, nil
}

func (a *processor) yields(img Image, fn symbol.Func) bool {
	return string(img.Bytes(fn.Entry, len(a.yield))) == string(a.yield)
}

// code reads the bytes of a function.
func code(img Image, fn symbol.Func) ([]byte, error) {
	if fn.End <= fn.Entry || fn.End-fn.Entry > maxCode {
		return nil, refuse(UnknownForm, "%s has %d bytes", fn.Name, int64(fn.End-fn.Entry))
	}
	b := img.Bytes(fn.Entry, int(fn.End-fn.Entry))
	if b == nil || img.Flags(fn.Entry)&elf.PF_X == 0 {
		return nil, refuse(Unreadable, "the code of %s is not in the file", fn.Name)
	}
	return slices.Clone(b), nil
}

// find proves the place and fills in the patch.
func (p *Patch) find(img Image, a *processor, funcs functions) error {
	for _, link := range [][2]string{{heapGrow, sysMap}, {sysMap, sysMapOS}} {
		if err := a.calls(img, funcs[link[0]], funcs[link[1]]); err != nil {
			return err
		}
	}
	var codes [3]Code
	var lists [3]listing
	for i, name := range []string{sysMapOS, noHugePageOS, hugePageOS} {
		b, err := code(img, funcs[name])
		if err != nil {
			return err
		}
		codes[i] = Code{name, funcs[name].Entry, b}
	}
	stock := codes[0].Bytes
	if restored, ok := a.restore(img, funcs, stock); ok {
		p.Applied, stock = true, restored
	}
	for i, b := range [][]byte{stock, codes[1].Bytes, codes[2].Bytes} {
		var err error
		if lists[i], err = a.known(img, funcs[codes[i].Name], b, p.GoVersion); err != nil {
			return err
		}
	}
	p.Proof = Proof{MapOS: codes[0], NoHugePageOS: codes[1], HugePageOS: codes[2], SyscallReturn: funcs[osyield].Entry + a.syscall}
	if err := p.proveMadvise(lists[1], lists[2]); err != nil {
		return err
	}
	return p.edit(img, a, funcs, stock, lists[0])
}

// calls tells whether a function calls another one, so that no release or
// profile has put a copy of the other in its place.
func (a *processor) calls(img Image, fn, to symbol.Func) error {
	b, err := code(img, fn)
	if err != nil {
		return err
	}
	uses, err := a.uses(fn, b)
	if err != nil {
		return refuse(UnknownForm, "its code cannot be followed: %v", err)
	}
	for _, u := range uses {
		if u.call && u.address == to.Entry {
			return nil
		}
	}
	return refuse(UnknownForm, "%s does not call %s: the heap is mapped in another way", fn.Name, to.Name)
}

// known decodes a function, and accepts it if its form is known.
func (a *processor) known(img Image, fn symbol.Func, b []byte, release string) (listing, error) {
	l, err := a.list(img, fn, b)
	if err != nil {
		return nil, refuse(UnknownForm, "its code cannot be followed: %v", err)
	}
	nearest, err := match(a.name, fn.Name, l)
	if err != nil {
		return nil, err
	}
	if nearest != "" {
		return nil, refuse(UnknownForm, "%s of %s has a form that is not known: %s", fn.Name, said(release), nearest)
	}
	return l, nil
}

// proveMadvise checks that both functions call the same madvise: in their forms
// only the advice differs.
func (p *Patch) proveMadvise(no, yes listing) error {
	n, y := no.calls(madvise), yes.calls(madvise)
	if len(n) != 1 || len(y) != 1 || no[n[0]].target != yes[y[0]].target {
		return refuse(UnknownForm, "%s and %s do not call the same %s", noHugePageOS, hugePageOS, madvise)
	}
	p.Proof.Madvise = no[n[0]].target
	return nil
}

// edit finds test, branch and call in sysMapOS and says what to write.
func (p *Patch) edit(img Image, a *processor, funcs functions, stock []byte, l listing) error {
	at, err := a.site(l)
	if err != nil {
		return err
	}
	test, branch, call := l[at[0]], l[at[1]], l[at[2]]
	if err := proveVariable(img, test.global); err != nil {
		return err
	}
	p.Proof.DisableTHP = test.global
	if branch.size != len(a.nop) {
		return refuse(UnknownForm, "the branch in %s has %d bytes", sysMapOS, branch.size)
	}
	to, ok := a.call(call.address, funcs[hugePageOS].Entry)
	if !ok {
		return refuse(UnknownForm, "%s is too far from %s", hugePageOS, sysMapOS)
	}
	for _, e := range []struct {
		insn
		code []byte
	}{{call, to}, {branch, a.nop}} {
		off := e.address - funcs[sysMapOS].Entry
		p.Edits = append(p.Edits, Edit{Address: e.address, Old: slices.Clone(stock[off : off+uint64(e.size)]), New: e.code})
	}
	return nil
}

// site returns the numbers of the test, the branch and the call.
func (a *processor) site(l listing) (at [3]int, err error) {
	calls := l.calls(noHugePageOS)
	if len(calls) != 1 {
		return at, refuse(UnknownForm, "%s calls %s %d times, not once", sysMapOS, noHugePageOS, len(calls))
	}
	call := calls[0]
	for test := range max(0, call-1) {
		if b := a.branch(l[test].text); b != "" && l[test+1].text == fmt.Sprintf("%s%d", b, call+1) {
			return [3]int{test, test + 1, call}, nil
		}
	}
	return at, refuse(UnknownForm, "no branch on a variable skips the call of %s", noHugePageOS)
}

// variable is the runtime's name for what the branch looks at.
const variable = "disablethp"

// proveVariable checks that this variable is the runtime's setting: the
// runtime has a table of names and places of its settings (runtime.dbgvars),
// and one entry must have that name and this place.
func proveVariable(img Image, address uint64) error {
	if img.Flags(address)&elf.PF_W == 0 || address%4 != 0 {
		return refuse(UnknownForm, "the branch in %s does not look at a variable", sysMapOS)
	}
	found := false
	img.Pointers(address, func(at uint64) bool {
		w := img.Words(at-16, 3)
		found = w != nil && w[1] == uint64(len(variable)) && w[2] == address && string(img.Bytes(w[0], len(variable))) == variable
		return found
	})
	if !found {
		return refuse(UnknownForm, "the branch in %s does not look at the setting %s: no entry of runtime.dbgvars has its address",
			sysMapOS, variable)
	}
	return nil
}

// restore returns the code of a patched sysMapOS with the branch and the call
// that do what they did before; false if it is not patched.
func (a *processor) restore(img Image, funcs functions, b []byte) ([]byte, bool) {
	fn := funcs[sysMapOS]
	l, err := a.list(img, fn, b)
	if err != nil {
		return nil, false
	}
	calls := l.calls(hugePageOS)
	if len(calls) != 1 {
		return nil, false
	}
	call := l[calls[0]]
	back, near := a.call(call.address, funcs[noHugePageOS].Entry)
	for n := calls[0] - 1; n >= 0 && near; n-- {
		if a.branch(l[n].text) == "" {
			continue
		}
		test := l[n].address - fn.Entry
		branch := test + uint64(l[n].size)
		end := call.address + uint64(call.size) - fn.Entry
		old, ok := a.branchCode(b[test:branch], int64(end-branch)-int64(len(a.nop)))
		if !ok || !bytes.Equal(b[branch:branch+uint64(len(a.nop))], a.nop) {
			return nil, false
		}
		out := slices.Clone(b)
		copy(out[branch:], old)
		copy(out[end-uint64(call.size):], back)
		return out, true
	}
	return nil, false
}
