package overlay

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed patches/*.patch
var texts embed.FS

// Patches returns all patches, by name. They are shared: do not change them.
var Patches = sync.OnceValue(func() []*Patch {
	files, err := texts.ReadDir("patches")
	if err != nil {
		panic(err)
	}
	var out []*Patch
	for _, f := range files {
		text, err := texts.ReadFile("patches/" + f.Name())
		if err != nil {
			panic(err)
		}
		p, err := parse(string(text))
		if err == nil && p.Name+path.Ext(f.Name()) != f.Name() {
			err = fmt.Errorf("its name is %s", p.Name)
		}
		if err != nil {
			panic(fmt.Sprintf("overlay: %s: %v", f.Name(), err)) // a test parses them all
		}
		out = append(out, p)
	}
	return out
})

// Names of the patches.
const (
	HeapHugePages  = "heap-hugepages"
	ArenaHugePages = "arena-hugepages"
	ArenaRelease   = "arena-release"
	HeapMinimum    = "heap-minimum"
	MallocPrefetch = "malloc-prefetch"
	NoAssist       = "gc-noassist"
)

// HugePagesVariable turns [HeapHugePages] off in the environment of the program, by
// [HugePagesOff].
const (
	HugePagesVariable = "FOLIO_HUGEPAGES"
	HugePagesOff      = "off"
)

// AssistVariable says when goroutines assist the GC in the environment of a program with
// [NoAssist]: a percentage by which the heap has passed its goal, or one of these.
const (
	AssistVariable = "FOLIO_ASSIST"
	AssistOn       = "on"  // as without the patch
	AssistOff      = "off" // near the memory limit only
)

// Default returns the patches of a build that names none.
func Default() []*Patch {
	var out []*Patch
	for _, p := range Patches() {
		if p.Default {
			out = append(out, p)
		}
	}
	return out
}

// Completions returns what shells offer for names of patches, each with a tab and its summary.
func Completions() []string {
	var out []string
	for _, p := range Patches() {
		out = append(out, p.Name+"\t"+p.Summary)
	}
	return out
}

// Lookup returns patches by their names, each once, in the order of [Patches].
func Lookup(names ...string) ([]*Patch, error) {
	var known []string
	for _, p := range Patches() {
		known = append(known, p.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown patch %q: want one of %s (folio patches says what they do)", name, strings.Join(known, ", "))
		}
	}
	var out []*Patch
	for _, p := range Patches() {
		if slices.Contains(names, p.Name) {
			out = append(out, p)
		}
	}
	return out, nil
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Names returns the names of patches, with commas between.
func Names(patches []*Patch) string {
	var out []string
	for _, p := range patches {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}
