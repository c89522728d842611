// Package formula evaluates formulas such as "2*(x+1)". The terms of a formula are in
// the arena of its parser.
package formula

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/foliomem/folio/arena"
)

// operators separate operands.
const operators = "+-*/()"

// A term is a number, a variable, or an operator with two operands.
type term struct {
	operator    byte // 0 for a number, 'x' for a variable
	number      float64
	name        string
	left, right *term
}

// A parser keeps the memory of one formula for the next.
type parser struct {
	arena *arena.Arena
	terms *arena.Handle[term]
	rest  string
}

// newParser returns a parser, to be closed.
func newParser() *parser {
	a := arena.NewArena()
	return &parser{arena: a, terms: arena.Of[term](a)}
}

// close frees the last formula and its parser.
func (p *parser) close() { p.arena.Free() }

// parse returns the root of a formula, which is valid until the next call or close.
func (p *parser) parse(text string) (*term, error) {
	p.arena.Reset()
	p.rest = arena.String(p.arena, strings.ReplaceAll(text, " ", ""))
	t, err := p.sum()
	if err == nil && p.rest != "" {
		return nil, fmt.Errorf("cannot parse %q in formula %q", p.rest, text)
	}
	return t, err
}

func (p *parser) sum() (*term, error)     { return p.chain("+-", p.product) }
func (p *parser) product() (*term, error) { return p.chain("*/", p.operand) }

// chain parses operands with operators of one precedence between them.
func (p *parser) chain(among string, operand func() (*term, error)) (*term, error) {
	left, err := operand()
	for err == nil && p.rest != "" && strings.IndexByte(among, p.rest[0]) >= 0 {
		t := p.terms.New()
		t.operator, t.left = p.rest[0], left
		p.rest = p.rest[1:]
		t.right, err = operand()
		left = t
	}
	return left, err
}

func (p *parser) operand() (*term, error) {
	if inner, ok := strings.CutPrefix(p.rest, "("); ok {
		p.rest = inner
		t, err := p.sum()
		if err != nil {
			return nil, err
		}
		if p.rest, ok = strings.CutPrefix(p.rest, ")"); !ok {
			return nil, fmt.Errorf("missing ) before %q", p.rest)
		}
		return t, nil
	}
	end := strings.IndexAny(p.rest, operators)
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	if word == "" {
		return nil, fmt.Errorf("missing operand before %q", p.rest)
	}
	p.rest = p.rest[end:]
	t := p.terms.New()
	var err error
	if t.number, err = strconv.ParseFloat(word, 64); err != nil {
		t.operator, t.name = 'x', word
	}
	return t, nil
}

func (t *term) value(variables map[string]float64) float64 {
	switch t.operator {
	case 0:
		return t.number
	case 'x':
		return variables[t.name]
	}
	l, r := t.left.value(variables), t.right.value(variables)
	switch t.operator {
	case '+':
		return l + r
	case '-':
		return l - r
	case '*':
		return l * r
	}
	return l / r
}

// names returns the variables of a formula, in a.
func names(a *arena.Arena, text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(operators+" ", r) })
	out := arena.MakeSlice[string](a, 0, len(words))
	for _, w := range words {
		if _, err := strconv.ParseFloat(w, 64); err != nil {
			out = append(out, arena.String(a, w))
		}
	}
	return out
}

// Value returns the value of a formula.
func Value(text string, variables map[string]float64) (float64, error) {
	p := newParser()
	defer p.close()
	t, err := p.parse(text)
	if err != nil {
		return 0, err
	}
	return t.value(variables), nil
}

// Valid returns the formulas that can be parsed.
func Valid(texts []string) []string {
	p := newParser()
	defer p.close()
	var out []string
	for _, text := range texts {
		if _, err := p.parse(text); err == nil {
			out = append(out, text)
		}
	}
	return out
}

// Name returns the first variable of a formula in alphabetical order, "" if it has none.
func Name(text string) string {
	a := arena.NewArena()
	defer a.Free()
	first := ""
	for _, name := range names(a, text) {
		if first == "" || name < first {
			first = name
		}
	}
	return arena.Clone(first)
}
