// Copyright (c) 2014 Armon Dadgar. Use of this source code is governed by the
// MIT license in the LICENSE file.

// Package radix is github.com/armon/go-radix v1.0.0, an ordered map from strings,
// with its nodes in an arena. WalkPath is left out.
package radix

import "github.com/foliomem/folio/arena"

// Tree implements a radix tree. This can be treated as a
// Dictionary abstract data type. The main advantage over
// a standard hash map is prefix-based lookups and
// ordered iteration,
type Tree struct {
	arena  *arena.Arena
	nodes  *arena.Handle[node]
	leaves *arena.Handle[leafNode]
	root   *node
	size   int
}

// New returns an empty Tree, which allocates from an arena of the caller's. The tree
// may be used until the arena is freed.
func New(a *arena.Arena) *Tree {
	t := &Tree{arena: a, nodes: arena.Of[node](a), leaves: arena.Of[leafNode](a)}
	t.root = t.nodes.New()
	return t
}

func (t *Tree) newNode(n node) *node {
	p := t.nodes.New()
	*p = n
	return p
}

func (t *Tree) newLeaf(key string, val any) *leafNode {
	l := t.leaves.New()
	l.key, l.val = key, val
	return l
}

// Sorted returns the words that a list has, each once and in order.
func Sorted(words []string) []string {
	a := arena.NewArena()
	defer a.Free()
	t := New(a)
	for _, w := range words {
		t.Insert(w, nil)
	}
	out := make([]string, 0, t.Len())
	t.Walk(func(s string, _ any) bool {
		out = append(out, s)
		return false
	})
	return out
}

// First returns the first of a list's words that has a prefix.
func First(words []string, prefix string) (string, bool) {
	a := arena.NewArena()
	t := New(a)
	for _, w := range words {
		t.Insert(w, nil)
	}
	word, found := "", false
	t.WalkPrefix(prefix, func(s string, _ any) bool {
		word, found = s, true
		return true
	})
	a.Free()
	return word, found
}
