package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/format"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2"
)

// A workload builds what it keeps, and returns what one goroutine does again and
// again: it returns how much was done.
type workload func(limit uint64) (work func(worker int, r *mathrand.Rand) int, err error)

var workloads = map[string]workload{
	"json": jsonServer, "ecdsa": sign, "bleve": index, "gofmt": gofmt, "trees": trees, "phases": phases, "near": near,
	"outside": outside, "rest": rest,
}

type order struct {
	ID    int               `json:"id"`
	User  string            `json:"user"`
	Items []item            `json:"items"`
	Tags  map[string]string `json:"tags"`
}

type item struct {
	SKU   string  `json:"sku"`
	Count int     `json:"count"`
	Price float64 `json:"price"`
}

func newOrder(id int) *order {
	o := &order{ID: id, User: fmt.Sprintf("user-%d", id), Tags: map[string]string{"region": "eu", "channel": fmt.Sprint(id % 7)}}
	for i := range 6 {
		o.Items = append(o.Items, item{SKU: fmt.Sprintf("sku-%d-%d", id, i), Count: i, Price: float64(i) * 1.5})
	}
	return o
}

// jsonServer keeps about 200 MB of decoded orders, and replaces one by each
// request.
func jsonServer(uint64) (func(int, *mathrand.Rand) int, error) {
	const shards, orders = 64, 200_000
	var store [shards]struct {
		sync.Mutex
		m map[int]*order
	}
	for i := range store {
		store[i].m = make(map[int]*order)
	}
	for id := range orders {
		store[id%shards].m[id] = newOrder(id)
	}
	var bodies [][]byte
	for i := range 100 {
		b, err := json.Marshal(newOrder(i))
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, b)
	}
	return func(_ int, r *mathrand.Rand) int {
		for range 50 {
			var o order
			if err := json.Unmarshal(bodies[r.IntN(len(bodies))], &o); err != nil {
				panic(err)
			}
			o.ID = r.IntN(orders)
			s := &store[o.ID%shards]
			s.Lock()
			old := s.m[o.ID]
			s.m[o.ID] = &o
			s.Unlock()
			if _, err := json.Marshal(old); err != nil {
				panic(err)
			}
		}
		return 50
	}, nil
}

// sign is the program of "Go, don't collect my garbage".
func sign(uint64) (func(int, *mathrand.Rand) int, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte("folio"))
	return func(int, *mathrand.Rand) int {
		for range 20 {
			if _, err := ecdsa.SignASN1(rand.Reader, key, hash[:]); err != nil {
				panic(err)
			}
		}
		return 20
	}, nil
}

// sources are the Go files of some of the standard library.
func sources(most int, dirs ...string) (out [][]byte, err error) {
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(runtime.GOROOT(), "src", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.Contains(path, "testdata") || len(out) >= most {
				return err
			}
			data, err := os.ReadFile(path)
			out = append(out, data)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no Go files in %v", dirs)
	}
	return out, nil
}

// index puts Go files into an in-memory search index, and begins a new one when
// all are in.
func index(uint64) (func(int, *mathrand.Rand) int, error) {
	files, err := sources(700, "net", "go", "encoding", "crypto", "runtime")
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var idx bleve.Index
	next := 0
	return func(int, *mathrand.Rand) int {
		mu.Lock()
		defer mu.Unlock() // bleve has goroutines of its own
		if idx == nil || next >= len(files) {
			if idx != nil {
				idx.Close()
			}
			if idx, err = bleve.NewMemOnly(bleve.NewIndexMapping()); err != nil {
				panic(err)
			}
			next = 0
			passes.Add(1)
		}
		b := idx.NewBatch()
		n := min(50, len(files)-next)
		for i := range n {
			if err := b.Index(fmt.Sprint(next+i), map[string]any{"text": string(files[next+i])}); err != nil {
				panic(err)
			}
		}
		if err := idx.Batch(b); err != nil {
			panic(err)
		}
		next += n
		return n
	}, nil
}

// gofmt parses and prints Go files.
func gofmt(uint64) (func(int, *mathrand.Rand) int, error) {
	files, err := sources(2000, "net", "go", "cmd/compile", "runtime")
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	return func(int, *mathrand.Rand) int {
		f := files[int(next.Add(1))%len(files)]
		if _, err := format.Source(f); err != nil {
			panic(err)
		}
		return len(f)
	}, nil
}

type tree struct{ left, right *tree }

func newTree(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{newTree(depth - 1), newTree(depth - 1)}
}

func (t *tree) count() int {
	if t.left == nil {
		return 1
	}
	return 1 + t.left.count() + t.right.count()
}

// trees makes short-lived trees beside one that stays.
func trees(uint64) (func(int, *mathrand.Rand) int, error) {
	long := newTree(20)
	return func(int, *mathrand.Rand) int {
		n := newTree(14).count()
		runtime.KeepAlive(long)
		return n
	}, nil
}

// cache keeps entries of pointers and bytes, as many as it is told, in shards.
type cache [64]struct {
	sync.Mutex
	m    map[int]*entry
	keys []int
}

type entry struct {
	key   string
	parts [][]byte
}

func newEntry(k int) *entry {
	e := &entry{key: fmt.Sprintf("key-%d", k)}
	for range 8 {
		e.parts = append(e.parts, make([]byte, 96))
	}
	return e
}

func newCache(entries int) *cache {
	c := &cache{}
	for i := range c {
		c[i].m = make(map[int]*entry)
	}
	r := mathrand.New(mathrand.NewPCG(1, 2))
	for k := range entries {
		c.set(k, r, entries)
	}
	return c
}

// set replaces the value of a key or adds it, and drops as many others as there
// are too many.
func (c *cache) set(k int, r *mathrand.Rand, most int) {
	s := &c[k%len(c)]
	s.Lock()
	defer s.Unlock()
	if _, ok := s.m[k]; !ok {
		s.keys = append(s.keys, k)
	}
	s.m[k] = newEntry(k)
	for n := 0; len(s.keys) > most/len(c)+1 && n < 16; n++ {
		i := r.IntN(len(s.keys))
		delete(s.m, s.keys[i])
		s.keys[i] = s.keys[len(s.keys)-1]
		s.keys = s.keys[:len(s.keys)-1]
	}
}

// use is what a request does besides: garbage.
func use(r *mathrand.Rand) int {
	n := 0
	for range 20 {
		b := make([]string, 16)
		for i := range b {
			b[i] = fmt.Sprint(r.IntN(1000))
		}
		n += len(strings.Join(b, ","))
	}
	return n
}

// phases is a cache whose live set doubles and halves every two seconds.
func phases(limit uint64) (func(int, *mathrand.Rand) int, error) {
	const entryBytes = 1300
	small := int(limit / 6 / entryBytes)
	c := newCache(small)
	begin := time.Now()
	return func(_ int, r *mathrand.Rand) int {
		most := small
		if int(time.Since(begin).Seconds()/2)%2 == 1 {
			most *= 2
		}
		for range 20 {
			c.set(r.IntN(4*most), r, most)
			use(r)
		}
		return 20
	}, nil
}

// outside is a cache whose values lie outside the Go heap, in mappings, as those of
// VictoriaMetrics/fastcache do: they take a quarter of the limit, and half of it,
// in turn, four seconds each. The Go heap beside it keeps its size.
func outside(limit uint64) (func(int, *mathrand.Rand) int, error) {
	const entryBytes, block, value = 1300, 256 << 10, 2 << 10
	most := int(limit / 8 / entryBytes)
	c := newCache(most)
	var mu sync.Mutex
	var blocks [][]byte
	used := block // of the last block
	begin := time.Now()
	store := func(v []byte) {
		blocksWanted := int(limit / 4 / block)
		if int(time.Since(begin).Seconds()/4)%2 == 1 {
			blocksWanted *= 2
		}
		mu.Lock()
		defer mu.Unlock()
		if used == block {
			b, err := syscall.Mmap(-1, 0, block, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
			if err != nil {
				panic(err)
			}
			blocks, used = append(blocks, b), 0
			for n := 0; len(blocks) > blocksWanted && n < 4; n++ {
				if err := syscall.Munmap(blocks[0]); err != nil {
					panic(err)
				}
				blocks = append(blocks[:0], blocks[1:]...)
			}
		}
		used += copy(blocks[len(blocks)-1][used:], v)
	}
	return func(_ int, r *mathrand.Rand) int {
		var v [value]byte
		for range 20 {
			c.set(r.IntN(most), r, most)
			store(v[:])
			use(r)
		}
		return 20
	}, nil
}

// near keeps most of the limit alive.
func near(limit uint64) (func(int, *mathrand.Rand) int, error) {
	const entryBytes = 1300
	most := int(float64(limit) * 0.74 / entryBytes)
	c := newCache(most)
	return func(_ int, r *mathrand.Rand) int {
		for range 20 {
			c.set(r.IntN(most), r, most)
			use(r)
		}
		return 20
	}, nil
}

// rest keeps 100 MB alive, some of which had to be collected, and does nothing.
func rest(uint64) (func(int, *mathrand.Rand) int, error) {
	var live [][]byte
	for range 1000 {
		for range 10 {
			live = append(live, make([]byte, 100<<10))
			live = live[max(len(live)-1000, 0):]
		}
	}
	return func(int, *mathrand.Rand) int {
		time.Sleep(time.Second)
		runtime.KeepAlive(live)
		return 1
	}, nil
}
