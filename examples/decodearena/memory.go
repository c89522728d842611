package main

import (
	"sync"

	"github.com/foliomem/folio/arena"
)

// memories are the ways to decode, by what allocates. Each call returns what one request uses.
var memories = map[string]func() memory{
	"new":       func() memory { return heap{} },
	"sync.Pool": func() memory { return pooled{} },
	"arena":     func() memory { return newInArena() },
}

// heap leaves all of a message to the GC.
type heap struct{}

func (heap) order() *order                              { return new(order) }
func (heap) item() *item                                { return new(item) }
func (heap) option() *option                            { return new(option) }
func (heap) text(b []byte) string                       { return string(b) }
func (heap) addItem(s []*item, i *item) []*item         { return append(s, i) }
func (heap) addOption(s []*option, o *option) []*option { return append(s, o) }
func (heap) done(*order)                                {}

// pooled reuses messages, and the slices in them. Texts are left to the GC: they cannot be
// written to.
type pooled struct{}

var (
	orders  = sync.Pool{New: func() any { return new(order) }}
	items   = sync.Pool{New: func() any { return new(item) }}
	options = sync.Pool{New: func() any { return new(option) }}
)

func (pooled) order() *order                              { return orders.Get().(*order) }
func (pooled) item() *item                                { return items.Get().(*item) }
func (pooled) option() *option                            { return options.Get().(*option) }
func (pooled) text(b []byte) string                       { return string(b) }
func (pooled) addItem(s []*item, i *item) []*item         { return append(s, i) }
func (pooled) addOption(s []*option, o *option) []*option { return append(s, o) }

func (pooled) done(o *order) {
	for _, i := range o.items {
		for _, p := range i.options {
			*p = option{}
			options.Put(p)
		}
		clear(i.options)
		*i = item{options: i.options[:0]}
		items.Put(i)
	}
	clear(o.items)
	*o = order{items: o.items[:0]}
	orders.Put(o)
}

// inArena has everything in one arena, which goes back to its pool when the request is done.
// Only the arena is made for each request.
type inArena struct {
	arena   *arena.Arena
	items   *arena.Handle[item]
	options *arena.Handle[option]
}

var arenas = arena.Pool{Options: &arena.Options{Name: "orders"}}

func newInArena() *inArena {
	a := arenas.Get()
	m := arena.New[inArena](a) // it ends with the request, too
	*m = inArena{arena: a, items: arena.Of[item](a), options: arena.Of[option](a)}
	return m
}

func (m *inArena) order() *order        { return arena.New[order](m.arena) }
func (m *inArena) item() *item          { return m.items.New() }
func (m *inArena) option() *option      { return m.options.New() }
func (m *inArena) text(b []byte) string { return arena.String(m.arena, string(b)) }
func (m *inArena) addItem(s []*item, i *item) []*item {
	return arena.Append(m.arena, s, i)
}
func (m *inArena) addOption(s []*option, o *option) []*option {
	return arena.Append(m.arena, s, o)
}
func (m *inArena) done(*order) { arenas.Put(m.arena) }
