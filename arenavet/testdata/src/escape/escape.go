package escape

import (
	"fmt"
	"sync"

	"github.com/foliomem/folio/arena"
)

type Node struct {
	Name string
	Next *Node
}

type flat struct{ X, Y int }

type cache struct {
	last  *Node
	all   map[string]*Node
	names []string
	count int
}

var (
	global *Node
	table  = map[string]*Node{}
)

func returned(name string) string {
	a := arena.NewArena()
	defer a.Free()
	return arena.String(a, name) // want `memory of the arena is returned, but the deferred Free in line 31 ends it`
}

func returnedNode() *Node {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	return n // want `memory of the arena is returned`
}

func returnedFlat() (*flat, error) {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[flat](a)
	return n, nil // want `memory of the arena is returned`
}

func returnedInside(n int) []*Node {
	a := arena.NewArena()
	defer a.Free()
	out := make([]*Node, 0, n)
	for range n {
		out = append(out, arena.New[Node](a))
	}
	return out // want `memory of the arena, in what is returned, is returned`
}

func returnedStruct() cache {
	a := arena.NewArena()
	defer a.Free()
	c := cache{last: arena.New[Node](a)}
	return c // want `memory of the arena, in what is returned, is returned`
}

func returnedClosure() func() string {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	return func() string { return n.Name } // want `memory of the arena, in what is returned, is returned`
}

func returnedArena() *arena.Arena {
	a := arena.NewArena()
	defer a.Free()
	return a // want `the arena is returned, but the deferred Free`
}

func onOnePath(x int) *Node {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	if x > 1 {
		return &Node{}
	}
	if x > 0 {
		return n // want `memory of the arena is returned`
	}
	return nil
}

func cloned(name string) (string, *Node, int) {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	n.Name = name
	m := *n
	return arena.Clone(arena.String(a, name)), &m, len(n.Name)
}

func toGlobal() {
	a := arena.NewArena()
	defer a.Free()
	global = arena.New[Node](a) // want `memory of the arena is kept outside of the function, but the deferred Free`
}

func toGlobalForAWhile() {
	a := arena.NewArena()
	defer a.Free()
	global = arena.New[Node](a)
	fmt.Println(global.Name)
	global = nil
}

func toMap(name string) {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	table[name] = n // want `memory of the arena is kept outside of the function`
}

func (c *cache) toField() {
	a := arena.NewArena()
	n := arena.New[Node](a)
	c.last = n // want `memory of the arena is kept outside of the function, but Free`
	a.Free()
}

func (c *cache) onPath(keep bool) {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	if keep {
		c.last = n // want `memory of the arena is kept outside of the function`
		c.count++
	}
}

func (c *cache) replaced() {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	c.last = n
	c.count++
	c.last = arena.Clone(n)
}

func (c *cache) toSlice(name string) {
	a := arena.NewArena()
	defer a.Free()
	c.names = append(c.names, arena.String(a, name)) // want `memory of the arena is kept outside of the function`
}

func sent(c chan *Node) {
	a := arena.NewArena()
	defer a.Free()
	c <- arena.New[Node](a) // want `memory of the arena is sent on a channel, but the deferred Free`
}

func sentAndWaited(c chan *Node, done chan bool) {
	a := arena.NewArena()
	defer a.Free()
	c <- arena.New[Node](a)
	<-done
}

func goroutine() {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	go func() { // want `memory of the arena is used by a goroutine, but the deferred Free`
		fmt.Println(n.Name)
	}()
}

func goroutineWaited() {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	var wg sync.WaitGroup
	wg.Go(func() {
		fmt.Println(n.Name)
	})
	wg.Wait()
}

func goroutineOwns() {
	a := arena.NewArena()
	n := arena.New[Node](a)
	go func() {
		defer a.Free()
		fmt.Println(n.Name)
	}()
}

func ownerReturned() (*arena.Arena, *Node) {
	a := arena.NewArena()
	return a, arena.New[Node](a)
}

func callers(a *arena.Arena) *Node {
	n := arena.New[Node](a)
	global = n
	return n
}

func local() int {
	a := arena.NewArena()
	defer a.Free()
	c := cache{all: map[string]*Node{}}
	c.last = arena.New[Node](a)
	c.all["x"] = c.last
	return len(c.all)
}

func errors() (err error) {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	if n.Next == nil {
		return fmt.Errorf("no next of %s", n.Name)
	}
	return nil
}

func heapPart() *Node {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	n.Next = &Node{}
	return n.Next
}
