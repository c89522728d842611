package arenabench

import "fmt"

// An entry is a node of an index.
type entry struct {
	key         string
	value       uint64
	priority    uint64
	left, right *entry
}

// entryBytes is about what an entry takes, with its key.
const entryBytes = 64

// A treap is an index ordered by key: a binary search tree by keys, and a heap by
// priorities, which are random.
type treap struct {
	root  *entry
	space *space
}

// put adds a key, or changes its value.
func (t *treap) put(key string, priority, value uint64) {
	p := &t.root
	for *p != nil && (*p).priority >= priority {
		switch e := *p; {
		case key < e.key:
			p = &e.left
		case key > e.key:
			p = &e.right
		default:
			e.value = value
			return
		}
	}
	e := t.space.entry()
	e.key, e.priority, e.value = t.space.text([]byte(key)), priority, value
	// What is below this place is taken apart: smaller keys to the left.
	below := *p
	*p = e
	left, right := &e.left, &e.right
	for below != nil {
		if below.key < key {
			*left, left = below, &below.right
			below = below.right
		} else {
			*right, right = below, &below.left
			below = below.left
		}
	}
	*left, *right = nil, nil
}

func (t *treap) get(key string) (value uint64, ok bool) {
	for e := t.root; e != nil; {
		switch {
		case key < e.key:
			e = e.left
		case key > e.key:
			e = e.right
		default:
			return e.value, true
		}
	}
	return 0, false
}

// walk passes the entries to f, in the order of the keys.
func (e *entry) walk(f func(*entry)) {
	if e != nil {
		e.left.walk(f)
		f(e)
		e.right.walk(f)
	}
}

// keyLen is how long the keys are.
const keyLen = 12

// makeKeys returns the text of n different keys, in no order.
func makeKeys(n int) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyz012345"
	text := make([]byte, 0, n*keyLen)
	for i := range n {
		// An odd factor gives each number another one, modulo 1<<(5*keyLen).
		for k, bits := 0, uint64(i)*0x9e3779b97f4a7c15; k < keyLen; k++ {
			text = append(text, letters[bits>>(5*(keyLen-1-k))&31])
		}
	}
	return text
}

// indexes makes an index, looks all its keys up in another order, and frees it,
// count times, as a search engine does for each segment.
func indexes(way Allocator, size uint64, count int, m *meter) (sum uint64, err error) {
	n := 1 << log2(max(size/entryBytes, 16))
	keys := string(makeKeys(n))
	key := func(i int) string { return keys[i*keyLen : (i+1)*keyLen] }
	m.start()
	for segment := range count {
		s := way.open()
		t := &treap{space: s}
		for i := range n {
			t.put(key(i), mix(uint64(i)), uint64(i+segment))
		}
		if segment == count-1 {
			m.look()
		}
		for i := range n {
			at := int(uint64(i) * 0x9e3779b97f4a7c15 & uint64(n-1)) // an odd factor: each key once
			v, ok := t.get(key(at))
			if !ok || v != uint64(at+segment) {
				return 0, fmt.Errorf("key %d of segment %d has value %d, found %v", at, segment, v, ok)
			}
		}
		last, seen := "", 0
		t.root.walk(func(e *entry) {
			if e.key <= last {
				seen = -n // whatever else there is, it is not n
			}
			last = e.key
			seen++
			sum += e.value
		})
		if seen != n {
			return 0, fmt.Errorf("segment %d has not its %d keys in order", segment, n)
		}
		s.close()
	}
	return sum, nil
}
