package arenabench

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A value is a node of a JSON document.
type value struct {
	kind   kind
	key    string // in an object
	text   string
	number float64
	first  *value // of an array's or object's elements
	next   *value // the element after this one
}

// valueBytes is about what a value takes, with its text.
const valueBytes = 72

type kind uint8

const (
	null kind = iota
	no
	yes
	number
	text
	array
	object
)

// mostNested is how deep arrays and objects may be within one another.
const mostNested = 1000

// A decoder reads a JSON document (RFC 8259) into values. Text that is not UTF-8
// stays as it is.
type decoder struct {
	space *space
	doc   []byte
	at    int
	depth int
	buf   []byte // for strings with escapes
}

func decode(s *space, doc []byte) (*value, error) {
	d := &decoder{space: s, doc: doc}
	v, err := d.value()
	if err == nil && d.blank() {
		err = errors.New("something follows the value")
	}
	if err != nil {
		return nil, fmt.Errorf("decode JSON at byte %d: %w", d.at, err)
	}
	return v, nil
}

// blank skips white space and reports whether anything follows.
func (d *decoder) blank() bool {
	for ; d.at < len(d.doc); d.at++ {
		switch d.doc[d.at] {
		case ' ', '\t', '\n', '\r':
		default:
			return true
		}
	}
	return false
}

var (
	errEnd   = errors.New("unexpected end")
	errValue = errors.New("no value")
)

func (d *decoder) value() (*value, error) {
	if !d.blank() {
		return nil, errEnd
	}
	v := d.space.value()
	var err error
	switch c := d.doc[d.at]; c {
	case '{', '[':
		err = d.elements(v, c)
	case '"':
		v.kind = text
		v.text, err = d.string()
	case 'n':
		err = d.word(v, null, "null")
	case 't':
		err = d.word(v, yes, "true")
	case 'f':
		err = d.word(v, no, "false")
	default:
		v.kind = number
		v.number, err = d.number()
	}
	return v, err
}

func (d *decoder) word(v *value, k kind, w string) error {
	if len(d.doc)-d.at < len(w) || string(d.doc[d.at:d.at+len(w)]) != w {
		return errValue
	}
	d.at += len(w)
	v.kind = k
	return nil
}

// elements reads an array or object, from its bracket on.
func (d *decoder) elements(v *value, open byte) error {
	if d.depth++; d.depth > mostNested {
		return errors.New("nested too deep")
	}
	end := byte(']')
	v.kind = array
	if open == '{' {
		v.kind, end = object, '}'
	}
	d.at++
	for next := &v.first; ; {
		if !d.blank() {
			return errEnd
		}
		c := d.doc[d.at]
		switch {
		case c == end && v.first == nil:
		case c == ',' && v.first != nil:
			d.at++
		case v.first == nil:
		case c != end:
			return errors.New("want a comma or the end of the array or object")
		}
		if c == end {
			d.at++
			d.depth--
			return nil
		}
		e, err := d.element(v.kind)
		if err != nil {
			return err
		}
		*next, next = e, &e.next
	}
}

func (d *decoder) element(in kind) (v *value, err error) {
	if in == array {
		return d.value()
	}
	if !d.blank() {
		return nil, errEnd
	}
	if d.doc[d.at] != '"' {
		return nil, errors.New("want a string as key")
	}
	key, err := d.string()
	if err != nil {
		return nil, err
	}
	if !d.blank() || d.doc[d.at] != ':' {
		return nil, errors.New("want a colon after a key")
	}
	d.at++
	if v, err = d.value(); err == nil {
		v.key = key
	}
	return v, err
}

// number reads a number.
func (d *decoder) number() (float64, error) {
	from := d.at
	at := func(c byte) bool { return d.at < len(d.doc) && d.doc[d.at] == c }
	digits := func() bool {
		begin := d.at
		for d.at < len(d.doc) && d.doc[d.at]-'0' < 10 {
			d.at++
		}
		return d.at > begin
	}
	if at('-') {
		d.at++
	}
	if at('0') {
		d.at++
	} else if !digits() {
		return 0, errValue
	}
	if at('.') {
		if d.at++; !digits() {
			return 0, errValue
		}
	}
	if at('e') || at('E') {
		if d.at++; at('+') || at('-') {
			d.at++
		}
		if !digits() {
			return 0, errValue
		}
	}
	f, err := strconv.ParseFloat(string(d.doc[from:d.at]), 64)
	if math.IsInf(f, 0) {
		err = nil // beyond what a float64 holds
	}
	return f, err
}

// string reads a string, from its quote on.
func (d *decoder) string() (string, error) {
	d.at++
	for i := d.at; i < len(d.doc); i++ {
		switch c := d.doc[i]; {
		case c == '"':
			s := d.space.text(d.doc[d.at:i])
			d.at = i + 1
			return s, nil
		case c == '\\':
			return d.escaped(i)
		case c < ' ':
			return "", errors.New("control character in a string")
		}
	}
	return "", errEnd
}

// escaped reads a string whose first backslash is at i.
func (d *decoder) escaped(i int) (string, error) {
	d.buf = append(d.buf[:0], d.doc[d.at:i]...)
	for ; i < len(d.doc); i++ {
		switch c := d.doc[i]; {
		case c == '"':
			d.at = i + 1
			return d.space.text(d.buf), nil
		case c < ' ':
			return "", errors.New("control character in a string")
		case c != '\\':
			d.buf = append(d.buf, c)
			continue
		}
		if i++; i == len(d.doc) {
			return "", errEnd
		}
		c, ok := escapes[d.doc[i]]
		if !ok {
			r, ok := d.unit(i)
			if !ok {
				return "", errors.New("unknown escape in a string")
			}
			i += 4
			// Two of them may make one character.
			if i+2 < len(d.doc) && utf16.IsSurrogate(r) && d.doc[i+1] == '\\' {
				if low, ok := d.unit(i + 2); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
					r = utf16.DecodeRune(r, low)
					i += 6
				}
			}
			d.buf = utf8.AppendRune(d.buf, r)
			continue
		}
		d.buf = append(d.buf, c)
	}
	return "", errEnd
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unit returns the UTF-16 unit of an escape whose u is at i.
func (d *decoder) unit(i int) (rune, bool) {
	if i+5 > len(d.doc) || d.doc[i] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(d.doc[i+1:i+5]), 16, 16)
	return rune(n), err == nil
}
