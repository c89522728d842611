// Copyright 2013 Julien Schmidt. All rights reserved.
// Use of this source code is governed by a BSD-style license that can be found
// in the LICENSE file.

// Package router is the tree of routes of github.com/julienschmidt/httprouter
// v1.3.0, with its nodes in an arena. Case-insensitive lookup is left out.
package router

import (
	"fmt"

	"github.com/foliomem/folio/arena"
)

// Handle is what a route leads to.
type Handle func(Params)

// Param is a wildcard of a route with its value.
type Param struct{ Key, Value string }

// Params are the wildcards of a route.
type Params []Param

// Route is a path with what it leads to.
type Route struct {
	Path   string
	Handle Handle
}

// Tree is a set of routes. All of its nodes are in one arena.
type Tree struct {
	arena *arena.Arena
	nodes *arena.Handle[node]
	root  *node
}

// New returns an empty tree. It must be closed.
func New() *Tree {
	a := arena.NewArena()
	t := &Tree{arena: a, nodes: arena.Of[node](a)}
	t.root = t.nodes.New()
	return t
}

func (t *Tree) newNode(n node) *node {
	p := t.nodes.New()
	*p = n
	return p
}

func (t *Tree) list(n *node) []*node { return arena.Append(t.arena, nil, n) }

// Add adds a route. It panics if the route contradicts others.
func (t *Tree) Add(path string, h Handle) { t.addRoute(t.root, path, h) }

// Lookup returns what a path leads to.
func (t *Tree) Lookup(path string) (Handle, Params, bool) { return t.root.getValue(path) }

// Replace sets the routes to those given; the memory of the old ones is reused.
func (t *Tree) Replace(routes []Route) {
	t.arena.Reset()
	t.root = t.nodes.New()
	for _, r := range routes {
		t.Add(r.Path, r.Handle)
	}
}

// Close frees the tree.
func (t *Tree) Close() {
	t.root = nil
	t.arena.Free()
}

// Check says what is wrong with routes, if anything.
func Check(routes []Route) (err error) {
	t := New()
	defer t.Close()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("routes: %v", v)
		}
	}()
	for _, r := range routes {
		t.Add(r.Path, r.Handle)
	}
	return nil
}

// Paths returns the parts of paths that begin a subtree.
func Paths(routes []Route) []string {
	a := arena.NewArena()
	defer a.Free()
	t := &Tree{arena: a, nodes: arena.Of[node](a)}
	root := t.nodes.New()
	for _, r := range routes {
		t.addRoute(root, r.Path, r.Handle)
	}
	var out []string
	for _, n := range root.children {
		out = append(out, n.path) // of the routes, not of the arena
	}
	return out
}
