// Package booking finds rooms that are booked twice. A plan owns the arena that its slots
// are in.
package booking

import (
	"fmt"

	"github.com/foliomem/folio/arena"
)

// A Booking of a room is for the hours from From until To.
type Booking struct {
	Room     string
	From, To int
}

// A slot is a booking of a room, in order of the hours.
type slot struct {
	from, to int
	later    *slot
}

type room struct {
	name  string
	first *slot
}

// A Plan is the bookings of all rooms.
type Plan struct {
	arena *arena.Arena
	slots *arena.Handle[slot]
	rooms []*room
}

// New returns an empty plan, to be closed.
func New() *Plan {
	a := arena.NewArena()
	return &Plan{arena: a, slots: arena.Of[slot](a)}
}

// Close frees the plan.
func (p *Plan) Close() {
	p.rooms = nil
	p.arena.Free()
}

func (p *Plan) slot(from, to int) *slot {
	s := p.slots.New()
	s.from, s.to = from, to
	return s
}

func (p *Plan) room(name string) *room {
	for _, r := range p.rooms {
		if r.name == name {
			return r
		}
	}
	r := arena.New[room](p.arena)
	r.name = name
	p.rooms = p.with(r)
	return r
}

// with returns the rooms with another.
func (p *Plan) with(r *room) []*room { return arena.Append(p.arena, p.rooms, r) }

// Book adds a booking, unless its room is booked already.
func (p *Plan) Book(b Booking) error {
	at := &p.room(b.Room).first
	for ; *at != nil && (*at).from < b.To; at = &(*at).later {
		if s := *at; s.to > b.From {
			return fmt.Errorf("room %s is booked from %d to %d", b.Room, s.from, s.to)
		}
	}
	s := p.slot(b.From, b.To)
	s.later = *at
	*at = s
	return nil
}

// Replace begins again with other bookings, in the memory of the present ones.
func (p *Plan) Replace(bookings []Booking) error {
	p.rooms = nil
	p.arena.Reset()
	for _, b := range bookings {
		if err := p.Book(b); err != nil {
			return err
		}
	}
	return nil
}

// Check reports the first booking of a room that is booked already.
func Check(bookings []Booking) error {
	p := New()
	defer p.Close()
	for _, b := range bookings {
		if err := p.Book(b); err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	return nil
}

// Hours returns how many hours a room is in use, of bookings that may overlap.
func Hours(bookings []Booking, name string) int {
	a := arena.NewArena()
	defer a.Free()
	used := arena.MakeSlice[bool](a, 24, 24)
	for _, b := range bookings {
		for h := b.From; h < b.To && b.Room == name; h++ {
			used[h%24] = true
		}
	}
	n := 0
	for _, u := range used {
		if u {
			n++
		}
	}
	return n
}
