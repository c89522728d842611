package main

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/foliomem/folio/examples/jsonserver/internal/item"
)

const (
	shardCount = 32
	topHits    = 10
)

// A store is a map of records by id, split into shards with a lock each. A
// record is never changed once it is in the store, only replaced, so readers
// may use it without the lock.
type store struct {
	shards [shardCount]shard
}

type shard struct {
	mu    sync.RWMutex
	items map[int]*item.Record
	ids   []int // the keys of items, in the order a search visits them
}

// A hit is one match of a search.
type hit struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Score int    `json:"score"`
}

// load returns a store of records 1 to n, or nil if ctx ends first.
func load(ctx context.Context, n int, seed uint64) *store {
	s := new(store)
	for i := range s.shards {
		s.shards[i].items = make(map[int]*item.Record, n/shardCount+1)
	}
	for id := 1; id <= n; id++ {
		if ctx.Err() != nil {
			return nil
		}
		sh := s.shard(id)
		sh.items[id] = item.New(seed, id)
		sh.ids = append(sh.ids, id)
	}
	return s
}

func (s *store) shard(id int) *shard { return &s.shards[uint(id)%shardCount] }

// get returns the record with the given id, or nil.
func (s *store) get(id int) *item.Record {
	sh := s.shard(id)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return sh.items[id]
}

// replace puts rec in the place of the record with its id, as the next
// revision of it. It reports whether there was one.
func (s *store) replace(rec *item.Record) bool {
	sh := s.shard(rec.ID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	old := sh.items[rec.ID]
	if old == nil {
		return false
	}
	rec.Rev = old.Rev + 1
	sh.items[rec.ID] = rec
	return true
}

// search returns the records with the most words that begin with q, in any
// case, among those of one shard, which q alone decides.
func (s *store) search(q string) []hit {
	q = strings.ToLower(q)
	h := fnv.New32a()
	h.Write([]byte(q))
	sh := &s.shards[h.Sum32()%shardCount]

	sh.mu.RLock()
	recs := make([]*item.Record, len(sh.ids))
	for i, id := range sh.ids {
		recs[i] = sh.items[id]
	}
	sh.mu.RUnlock()

	hits := []hit{}
	for _, r := range recs {
		n := 0
		for _, word := range strings.Fields(strings.ToLower(r.Name + " " + r.Description)) {
			if strings.HasPrefix(word, q) {
				n++
			}
		}
		if n > 0 {
			hits = append(hits, hit{r.ID, r.Name, n})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return hits[:min(len(hits), topHits)]
}
