package main

// heap is what most Go programs do.
type heap struct{}

func (heap) worker() func(trees, depth int) int {
	return func(trees, depth int) (nodes int) {
		for range trees {
			nodes += build(depth).count()
		}
		return nodes
	}
}

func (heap) keep(depth int) func() int { return build(depth).count }

func build(depth int) *Node {
	if depth == 0 {
		return &Node{}
	}
	return &Node{build(depth - 1), build(depth - 1)}
}
