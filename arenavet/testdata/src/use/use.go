package use

import (
	"fmt"
	"os"
	"strings"

	"github.com/foliomem/folio/arena"
)

type Node struct {
	Name        string
	X           int
	Left, Right *Node
}

type parser struct {
	a     *arena.Arena
	nodes *arena.Handle[Node]
	root  *Node
}

func plain() {
	a := arena.NewArena()
	n := arena.New[Node](a)
	n.X = 1
	a.Free()
	n.X = 2        // want `memory of the arena is used after Free in line 27`
	fmt.Println(n) // want `memory of the arena is used after Free`
	fmt.Println(a.Stats())
}

func copies() int {
	a := arena.NewArena()
	n := arena.New[Node](a)
	m := n
	p := &m.X
	n.Left = arena.New[Node](a)
	left := n.Left
	a.Free()
	*p++                // want `memory of the arena is used after Free`
	return m.X + left.X // want `memory of the arena is used after Free` `memory of the arena is used after Free`
}

func slices() {
	a := arena.NewArena()
	s := arena.MakeSlice[int](a, 3, 10)
	t := s[1:2]
	t = append(t, 1)
	str := arena.String(a, os.Args[0])
	part := str[1:]
	b := arena.Bytes(a, []byte("abc"))
	a.Free()
	for _, x := range s { // want `memory of the arena is used after Free`
		fmt.Println(x)
	}
	fmt.Println(part)           // want `memory of the arena is used after Free`
	fmt.Println(part + "x")     // want `memory of the arena is used after Free`
	b[0] = 1                    // want `memory of the arena is used after Free`
	fmt.Println(len(s), len(b)) // no memory is looked at
	copy(b, "x")                // want `memory of the arena is used after Free`
}

func reset(lines []string) {
	a := arena.NewArena()
	defer a.Free()
	var words []string
	for _, l := range lines {
		for _, w := range strings.Fields(l) {
			words = arena.Append(a, words, w) // want `memory of the arena is used after Reset`
		}
		fmt.Println(len(words))
		a.Reset()
	}
}

func resetWell(lines []string) {
	a := arena.NewArena()
	defer a.Free()
	h := arena.Of[Node](a)
	var first *Node
	for _, l := range lines {
		var words []string
		for _, w := range strings.Fields(l) {
			words = arena.Append(a, words, w)
		}
		n := h.New()
		n.Name = l
		if first == nil {
			first = n
		}
		fmt.Println(len(words), first.Name)
		a.Reset()
		first = nil
	}
}

func resetInLoop(lines []string) {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	for range lines {
		n.X++         // want `memory of the arena is used after Reset`
		if n.X > 10 { // want `memory of the arena is used after Reset`
			a.Reset()
		}
	}
}

func resetInLoopWell(lines []string) {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	for range lines {
		n.X++
		if n.X > 10 {
			a.Reset()
			n = arena.New[Node](a)
		}
	}
}

func closure() {
	a := arena.NewArena()
	n := arena.New[Node](a)
	read := func() int { return n.X }
	read()
	a.Free()
	fmt.Println(read()) // want `memory of the arena is used after Free`
}

func deferOrder() {
	a := arena.NewArena()
	n := arena.New[Node](a)
	defer func() { fmt.Println(n.X) }() // want `memory of the arena is used after the deferred Free`
	defer a.Free()
	n.X = 1
}

func deferOrderWell() {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	defer func() { fmt.Println(n.X) }()
	n.X = 1
}

func deferredClosure() (err error) {
	a := arena.NewArena()
	n := arena.New[Node](a)
	defer func() {
		a.Free()
		if err != nil {
			fmt.Println(n.Name) // want `memory of the arena is used after Free`
		}
	}()
	_, err = fmt.Sscan("x", &n.X)
	return err
}

func forgotReturn(err error) {
	a := arena.NewArena()
	n := arena.New[Node](a)
	if err != nil {
		a.Free()
	}
	n.X = 1 // want `memory of the arena is used after Free`
	if err == nil {
		a.Free()
	}
}

func conditions(early bool) {
	a := arena.NewArena()
	n := arena.New[Node](a)
	if early {
		a.Free()
	}
	if !early {
		n.X = 1
		a.Free()
	}
}

func paths(err error) int {
	a := arena.NewArena()
	n := arena.New[Node](a)
	if err != nil {
		a.Free()
		return 0
	}
	x := n.X
	a.Free()
	return x
}

func replaced() {
	a := arena.NewArena()
	n := arena.New[Node](a)
	for i := range 10 {
		if i == 5 {
			a.Free()
			a = arena.NewArena()
			n = arena.New[Node](a)
		}
		n.X = i
	}
	a.Free()
}

func heapAfterwards() {
	a := arena.NewArena()
	n := arena.New[Node](a)
	set := func() { n.X = 1 }
	set()
	a.Free()
	n = &Node{}
	set()
	n.X = 2
}

func heapInArena() string {
	a := arena.NewArena()
	n := arena.New[Node](a)
	n.Name = fmt.Sprint("x")
	name := n.Name
	a.Free()
	return name
}

func cloned() *Node {
	a := arena.NewArena()
	n := arena.New[Node](a)
	s := arena.String(a, os.Args[0])
	n = arena.Clone(n)
	s = strings.Clone(s)
	a.Free()
	n.Name = s
	return n
}

func conversions() string {
	a := arena.NewArena()
	b := arena.Bytes(a, []byte(os.Args[0]))
	s := string(b)
	a.Free()
	return s
}

func returned() *Node {
	a := arena.NewArena()
	n := arena.New[Node](a)
	a.Free()
	return n // want `memory of the arena is returned after Free`
}

func returnedInside() []*Node {
	a := arena.NewArena()
	out := make([]*Node, 0, 3)
	for range 3 {
		out = append(out, arena.New[Node](a))
	}
	a.Free()
	return out // want `memory of the arena, in what is returned, is returned after Free`
}

func arenaItself() {
	a := arena.NewArena()
	a.Free()
	arena.New[Node](a)     // want `the arena is used after Free`
	arena.String(a, "xyz") // want `the arena is used after Free`
}

func fields() {
	p := parser{a: arena.NewArena()}
	p.root = arena.New[Node](p.a)
	p.a.Free()
	fmt.Println(p.root.X) // want `memory of the arena is used after Free`
}

func (p *parser) method() {
	n := arena.New[Node](p.a)
	p.a.Reset()
	n.X = 1 // want `memory of the arena is used after Reset`
}

func (p *parser) node() *Node { return arena.New[Node](p.a) }

func (p *parser) free() { p.a.Free() }

func methods() {
	p := &parser{a: arena.NewArena()}
	n := p.node()
	n.X = 1
	p.free()
	n.X = 2 // want `memory of the arena is used after Free by free`
}

func pool(pl *arena.Pool) int {
	a := pl.Get()
	n := arena.New[Node](a)
	pl.Put(a)
	return n.X // want `memory of the arena is used after Put`
}

func build(a *arena.Arena, depth int) *Node {
	n := arena.New[Node](a)
	if depth > 0 {
		n.Left = build(a, depth-1)
	}
	return n
}

func (n *Node) count() int {
	if n == nil {
		return 0
	}
	return 1 + n.Left.count() + n.Right.count()
}

func recursive() int {
	a := arena.NewArena()
	n := build(a, 10)
	c := n.count()
	a.Free()
	return c + n.count() // want `memory of the arena is used after Free`
}

func compared() bool {
	a := arena.NewArena()
	n := arena.New[Node](a)
	m := n
	a.Free()
	return n == m && n != nil
}

func choose(x bool) {
	a, b := arena.NewArena(), arena.NewArena()
	defer b.Free()
	c := a
	if x {
		c = b
	}
	n := arena.New[Node](c)
	a.Free()
	n.X = 1 // it may be b's
}

func oneOf(o *arena.Options) {
	var a *arena.Arena
	if o == nil {
		a = arena.NewArena()
	} else {
		a = arena.NewArenaWith(o)
	}
	n := arena.New[Node](a)
	a.Free()
	n.X = 1 // want `memory of the arena is used after Free`
}

func maps() {
	a := arena.NewArena()
	m := map[string]*Node{}
	m["x"] = arena.New[Node](a)
	a.Free()
	fmt.Println(m["x"].X) // want `memory of the arena is used after Free`
	for _, n := range m {
		n.X = 1 // want `memory of the arena is used after Free`
	}
}

func zero() {
	var a arena.Arena
	n := arena.New[Node](&a)
	a.Free()
	n.X = 1 // want `memory of the arena is used after Free`
}

func flag(list []int) {
	a := arena.NewArena()
	defer a.Free()
	var n *Node
	first := true
	for i := range list {
		if i%10 == 0 {
			a.Reset()
			first = true
		}
		if first {
			n = arena.New[Node](a)
			first = false
		}
		n.X = i
	}
}

func interfaces() {
	a := arena.NewArena()
	var x any = arena.New[Node](a)
	a.Free()
	fmt.Println(x.(*Node).X) // want `memory of the arena is used after Free`
}

type title struct{ text string }

func (t *title) String() string { return t.text }

func interfaceValues() {
	a := arena.NewArena()
	var s fmt.Stringer = arena.New[title](a)
	a.Free()
	s.String() // want `memory of the arena is used after Free`
}

// What a method of an interface returns is not known to be of the arena.
func interfaceResults(s fmt.Stringer) {
	a := arena.NewArena()
	t := arena.New[title](a)
	s = t
	text := s.String()
	a.Free()
	fmt.Println(text)
}

func structs() {
	a := arena.NewArena()
	type pair struct{ a, b *Node }
	p := pair{arena.New[Node](a), &Node{}}
	q := p
	a.Free()
	q.b.X = 1
	q.a.X = 1 // want `memory of the arena is used after Free`
}

func swap(n int) {
	cur, next := arena.NewArena(), arena.NewArena()
	var last *Node
	for range n {
		next.Reset()
		m := arena.New[Node](next)
		if last != nil {
			m.X = last.X + 1
		}
		cur, next = next, cur
		last = m
	}
	cur.Free()
	next.Free()
}

func retry(parse func(*arena.Arena, *Node) error) int {
	a := arena.NewArena()
	defer a.Free()
	for range 3 {
		a.Reset()
		n := arena.New[Node](a)
		if err := parse(a, n); err == nil {
			return n.X
		}
	}
	return 0
}

type renewing struct {
	a     *arena.Arena
	nodes *arena.Handle[Node]
	done  bool
}

func newRenewing() *renewing {
	a := arena.NewArena()
	return &renewing{a: a, nodes: arena.Of[Node](a)}
}

func (r *renewing) renew() {
	r.a.Free()
	r.a = arena.NewArena()
	r.nodes = arena.Of[Node](r.a)
}

func (r *renewing) close() {
	if r.done {
		return
	}
	r.done = true
	r.a.Free()
}

func renew() {
	r := newRenewing()
	defer r.close()
	n := r.nodes.New()
	n.X = 1
	r.renew()
	n = r.nodes.New()
	n.X = 2
	r.renew()
	arena.New[Node](r.a).X = 3
	r.close()
}

type fixed struct {
	a     *arena.Arena
	nodes *arena.Handle[Node]
}

func newFixed() *fixed {
	a := arena.NewArena()
	return &fixed{a: a, nodes: arena.Of[Node](a)}
}

func (f *fixed) close() { f.a.Free() }

func beside() {
	f := newFixed()
	n := f.nodes.New()
	n.X = 1
	f.close()
	n.X = 2           // want `memory of the arena is used after Free by close`
	f.nodes.New().X++ // want `memory of the arena is used after Free by close`
}

func failing(err error) (*Node, error) {
	a := arena.NewArena()
	n := arena.New[Node](a)
	fail := func(err error) (*Node, error) {
		a.Free()
		return nil, err
	}
	if err != nil {
		return fail(err)
	}
	n.X = 1
	return n, nil
}

func yields(seq func(yield func(string) bool)) int {
	a := arena.NewArena()
	defer a.Free()
	total := 0
	for s := range seq {
		t := arena.String(a, s)
		total += len(t)
		a.Reset()
	}
	return total
}

func generic[T any](list []T) (sum int) {
	a := arena.NewArena()
	defer a.Free()
	h := arena.Of[T](a)
	for _, x := range list {
		p := h.New()
		*p = x
		sum++
	}
	return sum
}

func lists(lines []string) {
	a := arena.NewArena()
	defer a.Free()
	var head, tail *Node
	for _, l := range lines {
		n := arena.New[Node](a)
		n.Name = l
		if tail == nil {
			head = n
		} else {
			tail.Left = n
		}
		tail = n
	}
	for n := head; n != nil; n = n.Left {
		fmt.Println(n.Name)
	}
	a.Reset()
	head, tail = nil, nil
	if head == tail {
		head = arena.New[Node](a)
		head.X = 1
	}
}
