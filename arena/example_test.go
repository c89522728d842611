package arena_test

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/arena"
)

type Node struct {
	Name        string
	Left, Right *Node
}

func Example() {
	a := arena.NewArena()
	defer a.Free()

	root := arena.New[Node](a)
	root.Name = "root"
	root.Left = arena.New[Node](a)
	root.Left.Name = fmt.Sprint("left of ", root.Name) // on the heap: values in an arena may refer to it

	words := arena.MakeSlice[string](a, 0, 10)
	words = append(words, root.Name, root.Left.Name)
	fmt.Println(words)
	// Output: [root left of root]
}

func ExampleOf() {
	a := arena.NewArena()
	defer a.Free()

	nodes := arena.Of[Node](a)
	var list *Node
	for i := range 3 {
		n := nodes.New()
		n.Name, n.Left = fmt.Sprint(i), list
		list = n
	}
	for n := list; n != nil; n = n.Left {
		fmt.Print(n.Name, " ")
	}
	// Output: 2 1 0
}

func ExampleAppend() {
	a := arena.NewArena()
	defer a.Free()

	var squares []int
	for i := range 5 {
		squares = arena.Append(a, squares, i*i)
	}
	fmt.Println(squares)
	// Output: [0 1 4 9 16]
}

func ExampleClone() {
	a := arena.NewArena()
	found := arena.New[Node](a)
	found.Name = "kept"

	found = arena.Clone(found) // on the heap
	a.Free()
	fmt.Println(found.Name)
	// Output: kept
}

func ExampleArena_Reset() {
	a := arena.NewArena()
	defer a.Free()
	for _, line := range []string{"a b", "c d e"} {
		var words []string
		for word := range strings.FieldsSeq(line) {
			words = arena.Append(a, words, arena.String(a, word))
		}
		fmt.Println(len(words))
		a.Reset() // the next line uses the same memory
	}
	// Output:
	// 2
	// 3
}

func ExamplePool() {
	var pool arena.Pool
	handle := func(request string) string {
		a := pool.Get()
		defer pool.Put(a)

		n := arena.New[Node](a)
		n.Name = arena.String(a, request)
		return fmt.Sprint("handled ", n.Name) // a copy: n.Name ends here
	}
	fmt.Println(handle("one"))
	fmt.Println(handle("two"))
	// Output:
	// handled one
	// handled two
}
