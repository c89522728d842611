// Command cache is a key-value store in memory, on ristretto: sessions of some 1 KiB, each
// with a time to live. Users of Go keep such in a cache of this kind; badger in memory
// keeps its tables in few large slices, which the GC does not look into.
//
//	POST /get	answers with a session; one that has expired is made anew
//	POST /set	stores the body as a session
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	_ "github.com/KimMachineGun/automemlimit" // by AUTOMEMLIMIT
	"github.com/dgraph-io/ristretto/v2"

	_ "github.com/foliomem/folio/auto" // by FOLIO
	"github.com/foliomem/folio/internal/test/service"
)

func main() {
	service.Service{Name: "cache", Body: body, Build: build}.Main()
}

const (
	sessions = 150_000
	values   = 12 // of a session
	most     = 1 << 20
	ttl      = 10 * time.Minute
)

// A session is what a web application keeps of a user.
type session struct {
	user   string
	seen   time.Time
	values map[string]string
	state  []byte
}

func newSession(key uint64, state []byte) *session {
	s := &session{user: fmt.Sprintf("user-%d", key), seen: time.Now(), values: make(map[string]string, values), state: state}
	for i := range values {
		s.values[fmt.Sprintf("key-%d", i)] = fmt.Sprintf("value-%d-%d", key, i)
	}
	return s
}

// state is the part of a session that its user sends.
func state(key uint64) []byte {
	b := make([]byte, 0, 512)
	for i := uint64(0); len(b) < 480; i++ {
		b = fmt.Appendf(b, "%016x", service.Mix(key+i))
	}
	return b
}

func body() ([]byte, error) { return state(sessions), nil }

type cache struct {
	c    *ristretto.Cache[uint64, *session]
	keys service.Keys
}

func build() (func(net.Listener) error, error) {
	c, err := ristretto.NewCache(&ristretto.Config[uint64, *session]{
		NumCounters: 10 * sessions, BufferItems: 64,
		MaxCost: 2 * sessions, IgnoreInternalCost: true, // counts sessions
	})
	if err != nil {
		return nil, err
	}
	for key := range uint64(sessions) {
		// As if they had come over the last ttl: some expire in each second.
		left := ttl - time.Duration(service.Mix(key)%uint64(ttl-time.Second))
		for !c.SetWithTTL(key, newSession(key, state(key)), 1, left) {
			c.Wait() // its buffer was full
		}
	}
	c.Wait()
	s := &cache{c: c}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /get", s.get)
	mux.HandleFunc("POST /set", s.set)
	return service.HTTP(mux), nil
}

func (c *cache) next() uint64 { return c.keys.Next() % sessions }

func (c *cache) get(w http.ResponseWriter, _ *http.Request) {
	key := c.next()
	s, ok := c.c.Get(key)
	if !ok {
		s = newSession(key, state(key))
		c.c.SetWithTTL(key, s, 1, ttl)
	}
	out := fmt.Appendf(nil, "%s %d\n", s.user, s.seen.Unix())
	for k, v := range s.values {
		out = fmt.Appendf(out, "%s=%s\n", k, v)
	}
	_, _ = w.Write(append(out, s.state...)) // a client that is gone needs no answer
}

func (c *cache) set(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	key := c.next()
	c.c.SetWithTTL(key, newSession(key, data), 1, ttl)
	w.WriteHeader(http.StatusNoContent)
}
