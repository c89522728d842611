package main

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// An order is what a request sends: a message in the wire format of protocol buffers.
//
//	message Order  { uint64 id = 1; string customer = 2; repeated Item items = 3; }
//	message Item   { string product = 1; uint64 quantity = 2; repeated Option options = 3; }
//	message Option { string key = 1; string value = 2; }
type order struct {
	id       uint64
	customer string
	items    []*item
}

type item struct {
	product  string
	quantity uint64
	options  []*option
}

type option struct{ key, value string }

var errWire = errors.New("the message ends too early")

// field is a field of a message: a number, or bytes.
type field struct {
	tag    uint64 // its number << 3 | its type on the wire
	number uint64
	bytes  []byte
}

const (
	wireNumber = 0
	wireBytes  = 2
)

// next takes a field off a message.
func next(b []byte) (f field, rest []byte, err error) {
	var n int
	if f.tag, n = binary.Uvarint(b); n <= 0 {
		return f, nil, errWire
	}
	b = b[n:]
	if f.number, n = binary.Uvarint(b); n <= 0 {
		return f, nil, errWire
	}
	b = b[n:]
	switch f.tag & 7 {
	case wireNumber:
		return f, b, nil
	case wireBytes:
		if f.number > uint64(len(b)) {
			return f, nil, errWire
		}
		f.bytes = b[:f.number]
		return f, b[f.number:], nil
	}
	return f, nil, fmt.Errorf("a field is of type %d, which no order has", f.tag&7)
}

// A memory is where a decoded message lies.
type memory interface {
	order() *order
	item() *item
	option() *option
	text(b []byte) string
	addItem([]*item, *item) []*item
	addOption([]*option, *option) []*option
	done(*order) // nothing of it is in use any more
}

// decode reads an order. Fields that it does not know are passed over.
func decode(m memory, b []byte) (*order, error) {
	o := m.order()
	for len(b) > 0 {
		f, rest, err := next(b)
		if err != nil {
			return o, err
		}
		b = rest
		switch f.tag {
		case 1<<3 | wireNumber:
			o.id = f.number
		case 2<<3 | wireBytes:
			o.customer = m.text(f.bytes)
		case 3<<3 | wireBytes:
			i := m.item()
			o.items = m.addItem(o.items, i)
			if err := decodeItem(m, i, f.bytes); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

func decodeItem(m memory, i *item, b []byte) error {
	for len(b) > 0 {
		f, rest, err := next(b)
		if err != nil {
			return err
		}
		b = rest
		switch f.tag {
		case 1<<3 | wireBytes:
			i.product = m.text(f.bytes)
		case 2<<3 | wireNumber:
			i.quantity = f.number
		case 3<<3 | wireBytes:
			o := m.option()
			i.options = m.addOption(i.options, o)
			if err := decodeOption(m, o, f.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

func decodeOption(m memory, o *option, b []byte) error {
	for len(b) > 0 {
		f, rest, err := next(b)
		if err != nil {
			return err
		}
		b = rest
		switch f.tag {
		case 1<<3 | wireBytes:
			o.key = m.text(f.bytes)
		case 2<<3 | wireBytes:
			o.value = m.text(f.bytes)
		}
	}
	return nil
}

// encode is the inverse of decode, for those who send orders.
func (o *order) encode() []byte {
	b := appendNumber(nil, 1, o.id)
	b = appendBytes(b, 2, []byte(o.customer))
	for _, i := range o.items {
		m := appendBytes(nil, 1, []byte(i.product))
		m = appendNumber(m, 2, i.quantity)
		for _, p := range i.options {
			m = appendBytes(m, 3, appendBytes(appendBytes(nil, 1, []byte(p.key)), 2, []byte(p.value)))
		}
		b = appendBytes(b, 3, m)
	}
	return b
}

func appendNumber(b []byte, field, n uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, field<<3|wireNumber), n)
}

func appendBytes(b []byte, field uint64, s []byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(b, field<<3|wireBytes), uint64(len(s))), s...)
}
