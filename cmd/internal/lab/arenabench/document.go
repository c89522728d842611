package arenabench

import (
	"fmt"
	"math"
	"strconv"
)

// total is what a document holds, in whatever order.
type total struct {
	values int
	sum    uint64
}

// add counts a value.
func (t *total) add(k kind, key, text string, number float64) {
	const prime = 1099511628211 // FNV's
	h := uint64(k)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * prime
	}
	h = mix(h)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	t.sum += mix(h ^ math.Float64bits(number))
	t.values++
}

func (v *value) total(t *total) {
	for ; v != nil; v = v.next {
		t.add(v.kind, v.key, v.text, v.number)
		v.first.total(t)
	}
}

// A writer makes a document and adds up what it holds.
type writer struct {
	doc []byte
	total
}

func (w *writer) write(key string, k kind, s string, n float64) {
	w.add(k, key, s, n)
	if key != "" {
		w.doc = append(append(append(w.doc, '"'), key...), `":`...)
	}
	switch k {
	case null:
		w.doc = append(w.doc, "null"...)
	case no:
		w.doc = append(w.doc, "false"...)
	case yes:
		w.doc = append(w.doc, "true"...)
	case number:
		w.doc = strconv.AppendFloat(w.doc, n, 'g', -1, 64)
	case text:
		w.doc = strconv.AppendQuote(w.doc, s) // letters and digits, which need no escape
	case array:
		w.doc = append(w.doc, '[')
	case object:
		w.doc = append(w.doc, '{')
	}
}

// makeDocument returns a document whose values take about size bytes: a list of
// orders such as a shop keeps.
func makeDocument(size uint64) *writer {
	w := &writer{doc: make([]byte, 0, size/3)}
	w.write("", array, "", 0)
	for i := uint64(0); i == 0 || uint64(w.values)*valueBytes < size; i++ {
		if i > 0 {
			w.doc = append(w.doc, ",\n"...)
		}
		w.order(i)
	}
	w.doc = append(w.doc, ']')
	return w
}

func (w *writer) order(i uint64) {
	words := []string{"amber", "birch", "cobalt", "dune", "ember", "fjord", "granite", "hazel"}
	r := mix(i)
	word := func(shift int) string { return words[r>>shift&7] }
	comma := func() { w.doc = append(w.doc, ',') }
	w.write("", object, "", 0)
	w.write("id", number, "", float64(i))
	comma()
	w.write("customer", text, word(0)+" "+word(3)+" "+strconv.FormatUint(r>>40, 10), 0)
	comma()
	w.write("paid", no+kind(r>>6&1), "", 0)
	comma()
	w.write("note", null, "", 0)
	comma()
	w.write("address", object, "", 0)
	w.write("street", text, word(7)+" road "+strconv.FormatUint(r>>55, 10), 0)
	comma()
	w.write("city", text, word(10)+"ville", 0)
	w.doc = append(w.doc, '}', ',')
	w.write("items", array, "", 0)
	for k := range 1 + int(r>>13&3) {
		if k > 0 {
			comma()
		}
		w.write("", object, "", 0)
		w.write("product", text, word(15+3*k), 0)
		comma()
		w.write("price", number, "", float64(r>>(20+k)&1023)/4)
		comma()
		w.write("count", number, "", float64(1+k))
		w.doc = append(w.doc, '}')
	}
	w.doc = append(w.doc, ']', '}')
}

// documents decodes a document, looks at all its values, and frees them, count
// times.
func documents(way Allocator, size uint64, count int, m *meter) (sum uint64, err error) {
	w := makeDocument(size)
	m.start()
	for i := range count {
		s := way.open()
		v, err := decode(s, w.doc)
		if err != nil {
			return 0, err
		}
		if i == count-1 {
			m.look()
		}
		var t total
		v.total(&t)
		if t != w.total {
			return 0, fmt.Errorf("decoding found %d values with sum %x, not %d with %x", t.values, t.sum, w.values, w.sum)
		}
		s.close()
		sum += t.sum
	}
	return sum, nil
}
