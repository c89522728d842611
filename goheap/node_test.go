package goheap

import "fmt"

// node is what the tests fill the heap with: pointers and contents that can be
// checked.
type node struct {
	next *node
	sum  uint64
	data [14]uint64
}

func grow(bytes int) (all []*node) {
	all = make([]*node, bytes/128)
	var last *node
	for i := range all {
		n := &node{next: last, sum: uint64(i) * 0x9e3779b97f4a7c15}
		for j := range n.data {
			n.data[j] = n.sum + uint64(j)
		}
		all[i], last = n, n
	}
	return all
}

func check(all []*node) error {
	for i, n := range all {
		ok := n.sum == uint64(i)*0x9e3779b97f4a7c15
		for j, d := range n.data {
			ok = ok && d == n.sum+uint64(j)
		}
		if !ok {
			return fmt.Errorf("node %d changed: %+v", i, *n)
		}
	}
	return nil
}
