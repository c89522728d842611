package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/dgraph-io/ristretto/v2"
)

const cacheBatch = 256 // reads that are timed together

// profile is what a service may keep of a user.
type profile struct {
	id          uint64
	name, email string
	groups      []uint32
	seen        [12]int64
}

func newProfile(id uint64) *profile {
	p := &profile{id: id, name: fmt.Sprintf("user %d", id), email: fmt.Sprintf("user-%d@example.com", id)}
	for i := range id % 7 {
		p.groups = append(p.groups, uint32(id+i))
	}
	return p
}

// cache fills a cache that has room for all profiles, and reads them in no order.
func cache(size int) (func(*rand.Rand) error, error) {
	c, err := ristretto.NewCache(&ristretto.Config[uint64, *profile]{NumCounters: int64(10 * size),
		MaxCost: int64(2 * size), BufferItems: 64, IgnoreInternalCost: true})
	if err != nil {
		return nil, err
	}
	const wait = 8192 // its buffer holds more, and drops what is too much
	for id := range uint64(size) {
		c.Set(id, newProfile(id), 1)
		if id%wait == 0 {
			c.Wait()
		}
	}
	c.Wait()
	return func(r *rand.Rand) error {
		missing := 0
		for range cacheBatch {
			id := r.Uint64N(uint64(size))
			p, ok := c.Get(id)
			switch {
			case !ok:
				missing++
			case p.id != id || p.seen != [12]int64{}:
				return fmt.Errorf("profile %d is %+v", id, *p)
			}
		}
		if missing > cacheBatch/10 {
			return fmt.Errorf("%d of a batch are not in the cache", missing)
		}
		return nil
	}, nil
}
