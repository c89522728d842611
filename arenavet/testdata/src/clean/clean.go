// Package clean has programs without mistakes, for all analysers.
package clean

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/foliomem/folio/arena"
	"github.com/foliomem/folio/page"
)

type Node struct {
	Name        string
	X           int
	Left, Right *Node
	List        []*Node
}

type server struct {
	pool  arena.Pool
	mu    sync.Mutex
	cache *doc
	cur   atomic.Pointer[doc]
}

type doc struct {
	a    *arena.Arena
	root *Node
	all  []*Node
}

func parse(a *arena.Arena, r io.Reader) (*Node, error) {
	root := arena.New[Node](a)
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		n := arena.New[Node](a)
		n.Name = arena.String(a, sc.Text())
		root.List = arena.Append(a, root.List, n)
	}
	return root, sc.Err()
}

func (s *server) handle(w io.Writer, r io.Reader) {
	a := s.pool.Get()
	defer s.pool.Put(a)
	root, err := parse(a, r)
	if err != nil {
		fmt.Fprintln(w, err)
		return
	}
	sort.Slice(root.List, func(i, j int) bool { return root.List[i].Name < root.List[j].Name })
	names := make([]string, 0, len(root.List))
	for _, n := range root.List {
		names = append(names, n.Name)
	}
	fmt.Fprintln(w, strings.Join(names, ","))
}

func (s *server) reload(r io.Reader) error {
	a := arena.NewArena()
	root, err := parse(a, r)
	if err != nil {
		a.Free()
		return err
	}
	d := &doc{a: a, root: root}
	s.mu.Lock()
	old := s.cache
	s.cache = d
	s.mu.Unlock()
	if old != nil {
		old.a.Free()
	}
	return nil
}

func (s *server) swap(d *doc) {
	if old := s.cur.Swap(d); old != nil {
		old.close()
	}
}

func (d *doc) close() {
	if d.a == nil {
		return
	}
	d.a.Free()
	d.a, d.root, d.all = nil, nil, nil
}

func (d *doc) reset() {
	d.a.Reset()
	d.root = arena.New[Node](d.a)
	d.all = d.all[:0]
}

func open(r io.Reader) (d *doc, err error) {
	d = &doc{a: arena.NewArena()}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if d.root, err = parse(d.a, r); err != nil {
		return nil, err
	}
	return d, nil
}

func twoPhases(in []string) (out []string) {
	tmp, keep := arena.NewArena(), arena.NewArena()
	defer tmp.Free()
	defer keep.Free()
	var kept []string
	for _, s := range in {
		t := arena.String(tmp, s)
		if len(t) > 3 {
			kept = arena.Append(keep, kept, arena.String(keep, t))
		}
		tmp.Reset()
	}
	for _, k := range kept {
		out = append(out, strings.Clone(k))
	}
	return out
}

func workers(ctx context.Context, jobs <-chan string) int {
	results := make(chan int)
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			a := arena.NewArena()
			defer a.Free()
			for j := range jobs {
				n := arena.New[Node](a)
				n.Name = arena.String(a, j)
				n.X = len(n.Name)
				select {
				case results <- n.X:
				case <-ctx.Done():
					return
				}
				a.Reset()
			}
		}()
	}
	go func() {
		wg.Wait()
		close(results)
	}()
	total := 0
	for r := range results {
		total += r
	}
	return total
}

func parallel(parts [][]int) int {
	a := arena.NewArena()
	defer a.Free()
	sums := arena.MakeSlice[int](a, len(parts), len(parts))
	var wg sync.WaitGroup
	for i, p := range parts {
		wg.Go(func() {
			for _, x := range p {
				sums[i] += x
			}
		})
	}
	wg.Wait()
	total := 0
	for _, s := range sums {
		total += s
	}
	return total
}

type visitor func(n *Node) bool

func (n *Node) walk(v visitor) bool {
	if n == nil {
		return true
	}
	return n.Left.walk(v) && v(n) && n.Right.walk(v)
}

func (n *Node) insert(h *arena.Handle[Node], x int) *Node {
	if n == nil {
		n = h.New()
		n.X = x
		return n
	}
	if x < n.X {
		n.Left = n.Left.insert(h, x)
	} else {
		n.Right = n.Right.insert(h, x)
	}
	return n
}

func sorted(xs []int) []int {
	a := arena.NewArena()
	defer a.Free()
	h := arena.Of[Node](a)
	var root *Node
	for _, x := range xs {
		root = root.insert(h, x)
	}
	out := make([]int, 0, len(xs))
	root.walk(func(n *Node) bool {
		out = append(out, n.X)
		return true
	})
	return out
}

func optional(a *arena.Arena) (n *Node) {
	if a == nil {
		a = arena.NewArena()
		defer a.Free()
		n = arena.New[Node](a)
		n.X = 1
		m := *n
		return &Node{X: m.X}
	}
	return arena.New[Node](a)
}

func best(in []string) (string, error) {
	a := arena.NewArena()
	defer a.Free()
	var best *Node
	for i, s := range in {
		n := arena.New[Node](a)
		n.Name, n.X = s, i
		if best == nil || len(n.Name) > len(best.Name) {
			best = n
		}
	}
	if best == nil {
		return "", errors.New("nothing")
	}
	return best.Name, nil
}

func batches(in []string, emit func([]string)) {
	a := arena.NewArena()
	defer a.Free()
	var batch []string
	flush := func() {
		if len(batch) == 0 {
			return
		}
		emit(batch)
		a.Reset()
		batch = nil
	}
	for _, s := range in {
		batch = arena.Append(a, batch, arena.String(a, s))
		if len(batch) == 100 {
			flush()
		}
	}
	flush()
}

func scratch(n int) ([]byte, error) {
	m, err := page.Map(n, nil)
	if err != nil {
		return nil, err
	}
	b := m.Bytes()
	for i := range b {
		b[i] = byte(i)
	}
	out := append([]byte(nil), b[:10]...)
	if err := m.Close(); err != nil {
		return nil, err
	}
	return out, nil
}

func list(as []*arena.Arena) {
	for i := range as {
		as[i] = arena.NewArena()
	}
	for _, a := range as {
		arena.New[Node](a).X++
	}
	for _, a := range as {
		a.Free()
	}
}

func byName(names []string) {
	m := map[string]*arena.Arena{}
	for _, n := range names {
		if m[n] == nil {
			m[n] = arena.NewArena()
		}
		arena.New[Node](m[n]).Name = n
	}
	for _, a := range m {
		a.Free()
	}
	clear(m)
}

func phases(steps int) int {
	a := arena.NewArena()
	n := arena.New[Node](a)
	state := 0
	for range steps {
		switch state {
		case 0:
			n.X++
			state = 1
		case 1:
			a.Free()
			state = 2
		case 2:
		}
	}
	if state < 2 {
		a.Free()
	}
	return state
}

func labels(rows [][]string) {
	a := arena.NewArena()
	defer a.Free()
rows:
	for _, row := range rows {
		n := arena.New[Node](a)
		for _, c := range row {
			if c == "" {
				a.Reset()
				continue rows
			}
			n.Name = arena.String(a, c)
		}
		fmt.Println(n.Name)
	}
}
