// Package index says in which lines of a text a word is. Its entries are in an arena of
// the caller.
package index

import (
	"slices"
	"strings"

	"github.com/foliomem/folio/arena"
)

// An entry is a word in a chain of those with the same hash.
type entry struct {
	word  string
	lines []int
	next  *entry
}

// An index is a hash table of words. It is valid until its arena is freed.
type index struct {
	arena   *arena.Arena
	entries *arena.Handle[entry]
	chains  []*entry
}

func newIndex(a *arena.Arena) *index {
	return &index{arena: a, entries: arena.Of[entry](a), chains: arena.MakeSlice[*entry](a, 64, 64)}
}

// find returns the entry of a word, or nil; if create is set, it is made.
func (x *index) find(word string, create bool) *entry {
	hash := uint32(0)
	for i := range len(word) {
		hash = 31*hash + uint32(word[i])
	}
	chain := &x.chains[hash%uint32(len(x.chains))]
	for e := *chain; e != nil; e = e.next {
		if e.word == word {
			return e
		}
	}
	if !create {
		return nil
	}
	e := x.entries.New()
	e.word, e.next = word, *chain
	*chain = e
	return e
}

// add adds the words of a line.
func (x *index) add(line int, text string) {
	for _, word := range strings.Fields(text) {
		e := x.find(word, true)
		if n := len(e.lines); n == 0 || e.lines[n-1] != line {
			e.lines = arena.Append(x.arena, e.lines, line)
		}
	}
}

// Lines returns the numbers of the lines with a word, the first of which is 0.
func Lines(text, word string) []int {
	a := arena.NewArena()
	defer a.Free()
	x := newIndex(a)
	n := 0
	for line := range strings.Lines(text) {
		x.add(n, line)
		n++
	}
	e := x.find(word, false)
	if e == nil {
		return nil
	}
	return slices.Clone(e.lines)
}

// Common returns the words that are in several lines, in alphabetical order.
func Common(lines []string) []string {
	a := arena.NewArena()
	defer a.Free()
	x := newIndex(a)
	for i, line := range lines {
		x.add(i, line)
	}
	var out []string
	for _, e := range x.chains {
		for ; e != nil; e = e.next {
			if len(e.lines) > 1 {
				out = append(out, e.word) // memory of the text, not of the arena
			}
		}
	}
	slices.Sort(out)
	return out
}

// Has reports whether a text has a word.
func Has(text, word string) bool {
	a := arena.NewArena()
	x := newIndex(a)
	x.add(0, text)
	found := x.find(word, false) != nil
	a.Free()
	return found
}
