// Copyright (c) 2018 Aliaksandr Valialkin. Use of this source code is governed by
// the MIT license in the LICENSE file.

// Package fastjson is the parser of github.com/valyala/fastjson v1.6.10 with its
// values in an arena instead of its own cache. The conversions of numbers are left
// out.
package fastjson

import (
	"fmt"

	"github.com/foliomem/folio/arena"
)

// Parser parses JSON.
//
// Parser may be re-used for subsequent parsing.
//
// Parser cannot be used from concurrent goroutines.
type Parser struct {
	arena  *arena.Arena
	values *arena.Handle[Value]
}

// NewParser returns a parser. It must be closed.
func NewParser() *Parser {
	a := arena.NewArena()
	return &Parser{arena: a, values: arena.Of[Value](a)}
}

// Close frees the parser and what it parsed.
func (p *Parser) Close() { p.arena.Free() }

// Parse parses s containing JSON.
//
// The returned value is valid until the next call to Parse, or Close.
func (p *Parser) Parse(s string) (*Value, error) {
	p.arena.Reset()
	s = arena.String(p.arena, skipWS(s))

	v, tail, err := p.parseValue(s, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot parse JSON: %s; unparsed tail: %q", err, startEndString(tail))
	}
	tail = skipWS(tail)
	if len(tail) > 0 {
		return nil, fmt.Errorf("unexpected tail: %q", startEndString(tail))
	}
	return v, nil
}

type kv struct {
	k string
	v *Value
}

func (p *Parser) getKV(o *Object) *kv {
	o.kvs = arena.Append(p.arena, o.kvs, kv{})
	return &o.kvs[len(o.kvs)-1]
}

const maxStartEndStringLen = 80

func startEndString(s string) string {
	if len(s) <= maxStartEndStringLen {
		return s
	}
	start := s[:40]
	end := s[len(s)-40:]
	return start + "..." + end
}

// Field returns the text of a field of an object.
func Field(json string, keys ...string) (string, error) {
	p := NewParser()
	defer p.Close()
	v, err := p.Parse(json)
	if err != nil {
		return "", err
	}
	field := v.Get(keys...)
	if field == nil {
		return "", fmt.Errorf("no field %q", keys)
	}
	return field.String(), nil
}

// Count returns how many values of each type documents have at the top.
func Count(documents []string) (map[Type]int, error) {
	p := NewParser()
	defer p.Close()
	out := map[Type]int{}
	for _, d := range documents {
		v, err := p.Parse(d)
		if err != nil {
			return nil, err
		}
		out[v.Type()]++
	}
	return out, nil
}

// Words returns the texts of an array, in an arena of its own, as they are written.
func Words(a *arena.Arena, v *Value) []string {
	out := arena.MakeSlice[string](a, 0, len(v.GetArray()))
	for _, e := range v.GetArray() {
		out = append(out, arena.String(a, e.String()))
	}
	return out
}

// Longest returns the longest text of an array.
func Longest(json string) (string, error) {
	p := NewParser()
	defer p.Close()
	v, err := p.Parse(json)
	if err != nil {
		return "", err
	}
	a := arena.NewArena()
	defer a.Free()
	longest := ""
	for _, w := range Words(a, v) {
		if len(w) > len(longest) {
			longest = w
		}
	}
	return arena.Clone(longest), nil
}
