package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/foliomem/folio/arena"
)

// A node is a part of an expression. All of an expression's nodes are in the arena of
// the request; what they point to may be anywhere.
type node struct {
	op    byte // '+', '-', '*', '/', '(' for a call; 0 for a number
	value float64
	name  string // of the function that is called
	args  []*node
}

// parser turns text into nodes. It keeps the handle for nodes, since that is the fastest way.
type parser struct {
	arena *arena.Arena
	nodes *arena.Handle[node]
	text  string
	at    int
	depth int
}

// maxDepth bounds the recursion that a request may cause.
const maxDepth = 200

func parse(a *arena.Arena, text string) (*node, error) {
	p := parser{arena: a, nodes: arena.Of[node](a), text: text}
	n, err := p.sum()
	if err == nil && p.peek() != 0 {
		err = fmt.Errorf("position %d: unexpected %q", p.at, p.text[p.at])
	}
	return n, err
}

// peek skips spaces and returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	for p.at < len(p.text) {
		if c := p.text[p.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		p.at++
	}
	return 0
}

func (p *parser) sum() (*node, error)     { return p.binary('+', '-', p.product) }
func (p *parser) product() (*node, error) { return p.binary('*', '/', p.operand) }

// binary parses operands with one of two operators between them.
func (p *parser) binary(op1, op2 byte, operand func() (*node, error)) (*node, error) {
	left, err := operand()
	for err == nil {
		op := p.peek()
		if op != op1 && op != op2 {
			return left, nil
		}
		p.at++
		n := p.nodes.New()
		n.op = op
		n.args = arena.MakeSlice[*node](p.arena, 2, 2)
		n.args[0] = left
		n.args[1], err = operand()
		left = n
	}
	return nil, err
}

func (p *parser) operand() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("position %d: nested deeper than %d", p.at, maxDepth)
	}
	defer func() { p.depth-- }()
	c := p.peek()
	switch {
	case c == '(':
		p.at++
		n, err := p.sum()
		if err != nil {
			return nil, err
		}
		return n, p.expect(')')
	case c >= '0' && c <= '9' || c == '.':
		return p.number()
	case c >= 'a' && c <= 'z':
		return p.call()
	case c == 0:
		return nil, errors.New("the expression ends too early")
	}
	return nil, fmt.Errorf("position %d: unexpected %q", p.at, c)
}

func (p *parser) expect(c byte) error {
	if p.peek() != c {
		return fmt.Errorf("position %d: want %q", p.at, c)
	}
	p.at++
	return nil
}

// word returns the bytes that ok accepts.
func (p *parser) word(ok func(c byte) bool) string {
	from := p.at
	for p.at < len(p.text) && ok(p.text[p.at]) {
		p.at++
	}
	return p.text[from:p.at]
}

func (p *parser) number() (*node, error) {
	from := p.at
	w := p.word(func(c byte) bool { return c >= '0' && c <= '9' || c == '.' })
	v, err := strconv.ParseFloat(w, 64)
	if err != nil {
		return nil, fmt.Errorf("position %d: %q is not a number", from, w)
	}
	n := p.nodes.New()
	n.value = v
	return n, nil
}

func (p *parser) call() (*node, error) {
	n := p.nodes.New()
	n.op, n.name = '(', p.word(func(c byte) bool { return c >= 'a' && c <= 'z' })
	if err := p.expect('('); err != nil {
		return nil, err
	}
	if p.peek() == ')' {
		p.at++
		return n, nil
	}
	for {
		arg, err := p.sum()
		if err != nil {
			return nil, err
		}
		n.args = arena.Append(p.arena, n.args, arg)
		if p.peek() != ',' {
			return n, p.expect(')')
		}
		p.at++
	}
}

// eval returns the value of an expression.
func (n *node) eval() (float64, error) {
	if n.op == 0 {
		return n.value, nil
	}
	if n.op == '(' {
		return n.call()
	}
	left, err := n.args[0].eval()
	if err != nil {
		return 0, err
	}
	right, err := n.args[1].eval()
	switch n.op {
	case '+':
		left += right
	case '-':
		left -= right
	case '*':
		left *= right
	default:
		left /= right
	}
	return left, err
}

func (n *node) call() (float64, error) {
	var combine func(a, b float64) float64
	switch n.name {
	case "sum":
		combine = func(a, b float64) float64 { return a + b }
	case "min":
		combine = math.Min
	case "max":
		combine = math.Max
	default:
		// The name is a part of the request's text, not of the arena, and may be kept.
		return 0, fmt.Errorf("unknown function %q", n.name)
	}
	if len(n.args) == 0 {
		return 0, fmt.Errorf("%s of nothing", n.name)
	}
	result, err := n.args[0].eval()
	for _, arg := range n.args[1:] {
		v, e := arg.eval()
		if err == nil {
			err = e
		}
		result = combine(result, v)
	}
	return result, err
}
