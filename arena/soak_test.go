package arena

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

var operations = flag.Int("operations", 0, "how many operations TestManyOperations does, in all (default 3,000,000, in full tests 30,000,000)")

// TestManyOperations uses arenas in all ways that are allowed, on several goroutines,
// while the GC runs all the time, and verifies every value before its arena ends. A thousand
// million operations, which take some minutes:
//
//	go test ./arena -run TestManyOperations -operations 1000000000 -timeout 2h
func TestManyOperations(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	all := *operations
	switch {
	case all != 0:
	case testenv.Full():
		all = 30_000_000
	default:
		all = 3_000_000
	}
	if *operations == 0 && (raceEnabled || debugBuild) {
		all /= 10
	}
	for _, env := range stressEnvs {
		t.Run(env, func(t *testing.T) {
			n := strconv.Itoa(all / len(stressEnvs))
			out, err := child(t, "many operations", env, "FOLIO=", "ARENA_TEST_OPERATIONS="+n)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Log(out)
		})
	}
}

func init() {
	roles["many operations"] = func() int {
		n, err := strconv.Atoi(os.Getenv("ARENA_TEST_OPERATIONS"))
		if err == nil {
			err = soak(n)
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
}

// soakNode is a value that refers to values of all other types in its arena, and to the heap.
type soakNode struct {
	prev  *soakNode // made before it in the same arena
	plain *soakPlain
	leaf  *lateLeaf // on the heap
	text  string    // in the arena
	part  []uint32  // in the arena
	id    uint64
}

type soakPlain struct{ id, not uint64 }

// soakChain is what was made in one arena.
type soakChain struct {
	a           *Arena
	last        *soakNode
	first, next uint64 // ids
	grown       []uint32
	sum, count  uint32 // of grown
}

// soakIDs makes ids unique: values that overlap overwrite each other's.
var soakIDs atomic.Uint64

// soak does at least n operations, on two goroutines or more.
func soak(n int) error {
	var (
		wg     sync.WaitGroup
		done   atomic.Int64
		failed atomic.Pointer[error]
		rounds atomic.Int64
		pool   = Pool{Options: &Options{Name: "soak"}, KeepBytes: 256 << 10}
		passed = make(chan *soakChain, 4) // from one goroutine to another
		seed   = rand.Uint64()            // another one each time: what the GC does in between is by chance, too
	)
	for g := range max(2, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), seed))
			for done.Load() < int64(n) && failed.Load() == nil {
				ops, err := soakRound(r, &pool, passed)
				done.Add(int64(ops))
				rounds.Add(1)
				if err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	stop := make(chan struct{})
	go func() {
		wg.Wait()
		close(stop)
	}()
	for {
		select {
		case <-stop:
			if err := failed.Load(); err != nil {
				return fmt.Errorf("seed %d: %w", seed, *err)
			}
			fmt.Printf("%d operations in %d arenas, %d GC cycles\n", done.Load(), rounds.Load(), gcCycles())
			return nil
		case <-time.After(time.Millisecond):
			runtime.GC()
		}
	}
}

// soakRound makes an arena, or takes one that another goroutine made, and ends it. It returns how many
// operations it did.
func soakRound(r *rand.Rand, pool *Pool, passed chan *soakChain) (ops int, err error) {
	n := 1 << r.IntN(13)
	if r.IntN(500) == 0 {
		n = 1 << 17 // 11 MiB of nodes
	}
	switch r.IntN(6) {
	case 0:
		return soakOnStack(r, n)
	case 1, 2:
		a := pool.Get()
		c := soakChain{a: a}
		ops, err = c.fill(a, r, n)
		err = errors.Join(err, c.verify())
		pool.Put(a)
		return ops + 2, err
	case 3:
		c := &soakChain{a: NewArena()}
		ops, err = c.fill(c.a, r, n)
		select {
		case passed <- c:
			return ops, err
		default:
		}
		err = errors.Join(err, c.verify())
		c.a.Free()
		return ops + 1, err
	case 4:
		select {
		case c := <-passed:
			err = c.verify()
			pool.Put(c.a)
			return 1, err
		default:
		}
	}
	o := &Options{SlabBytes: 4096 << r.IntN(12)}
	switch r.IntN(3) {
	case 1:
		o.NoIdle = true
	case 2:
		o.IdleBytes = 64 << 10
	}
	a := NewArenaWith(o)
	for range 1 + r.IntN(3) {
		c := soakChain{a: a}
		more, e := c.fill(a, r, n)
		ops += more + 1
		err = errors.Join(err, e, c.verify())
		a.Reset()
	}
	a.Free()
	return ops + 1, err
}

// soakOnStack is a round in an arena that does not escape.
//
//go:noinline
func soakOnStack(r *rand.Rand, n int) (ops int, err error) {
	a := NewArena()
	var c soakChain
	ops, err = c.fill(a, r, n)
	err = errors.Join(err, c.verify())
	a.Free()
	return ops + 1, err
}

// fill allocates n nodes in a, and with some of them what they refer to.
func (c *soakChain) fill(a *Arena, r *rand.Rand, n int) (ops int, err error) {
	New[soakPlain](a) // has the first handle, unless another has it already
	c.first = soakIDs.Add(uint64(n)) - uint64(n)
	c.next = c.first
	var h *Handle[soakNode]
	if r.IntN(2) == 0 { // without, New moves handles
		h = Of[soakNode](a)
	}
	var digits [20]byte
	for range n {
		b := r.Uint64()
		var x *soakNode
		switch {
		case b&7 == 0:
			x = &MakeSlice[soakNode](a, 1, 1)[0]
		case b&1 == 0 && h != nil:
			x = h.New()
		default:
			x = New[soakNode](a)
		}
		if x.prev != nil || x.plain != nil || x.leaf != nil || x.text != "" || x.part != nil || x.id != 0 {
			return ops, fmt.Errorf("a new node is not zero: %+v", x)
		}
		x.prev, x.id = c.last, c.next
		c.last = x
		c.next++
		ops++
		if b>>23&3 == 0 {
			p := New[soakPlain](a)
			if *p != (soakPlain{}) {
				return ops, fmt.Errorf("a new value is not zero: %+v", p)
			}
			p.id, p.not = x.id, ^x.id
			x.plain = p
			ops++
		}
		if b>>4&7 == 0 {
			x.leaf = newLateLeaf(x.id)
		}
		if b>>7&7 == 0 {
			x.text = String(a, string(strconv.AppendUint(digits[:0], x.id, 10)))
			ops++
		}
		if b>>10&7 == 0 {
			x.part = MakeSlice[uint32](a, 1+int(b>>13&15), 16)
			for i := range x.part {
				if x.part[i] != 0 {
					return ops, fmt.Errorf("a new slice is not zero: %v", x.part)
				}
				x.part[i] = uint32(x.id) + uint32(i)
			}
			ops++
		}
		if b>>17&3 == 0 {
			v := uint32(b >> 32)
			c.grown = Append(a, c.grown, v)
			c.sum += v
			c.count++
			ops++
		}
	}
	return ops, nil
}

// verify looks at all that was made.
func (c *soakChain) verify() error {
	id := c.next
	for x := c.last; x != nil; x = x.prev {
		id--
		ok := x.id == id && x.leaf.ok() && (x.leaf == nil || x.leaf.b == id) &&
			(x.plain == nil || x.plain.id == id && x.plain.not == ^id)
		if ok && x.text != "" {
			n, err := strconv.ParseUint(x.text, 10, 64)
			ok = err == nil && n == id
		}
		for i, v := range x.part {
			ok = ok && v == uint32(id)+uint32(i)
		}
		if !ok {
			return fmt.Errorf("node %d is %+v, its leaf %+v, its value %+v", id, x, x.leaf, x.plain)
		}
	}
	if id != c.first {
		return fmt.Errorf("the chain ends at node %d, want %d", id, c.first)
	}
	var sum uint32
	for _, v := range c.grown {
		sum += v
	}
	if sum != c.sum || len(c.grown) != int(c.count) {
		return fmt.Errorf("a slice of %d elements with the sum %d, want %d and %d", len(c.grown), sum, c.count, c.sum)
	}
	return nil
}
