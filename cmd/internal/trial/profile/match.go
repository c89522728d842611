package profile

import (
	"math/bits"
	"strings"
	"sync"
)

// place says which frames of a stack a rule looks at.
type place uint8

const (
	// anywhere in the part of the stack below the program: the frames from the
	// innermost on that belong to the runtime or to what stands between it and
	// the program (sync, syscall). Where nothing of the program is on the stack,
	// as in GC workers, that is the whole stack.
	anywhere place = iota
	// leaf is the innermost frame.
	leaf
	// inKernel is anywhere in the kernel's part of the stack.
	inKernel
)

// A rule puts stacks into a class.
type rule struct {
	class Class
	where place
	names []string // functions; one that ends in * is a prefix
	under []string // if not empty, one of these must be anywhere as well
}

// A pattern is a name or, with a star at its end, a prefix. No other wildcards
// are needed, and stars inside of names are receivers.
func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// set is a set of rules by their index in the table.
type set uint64

// A matcher finds which rules know a function. A stack is classified by the
// union of the sets of its frames: what comes first in the table wins,
// wherever on the stack it is.
type matcher struct {
	rules  []rule
	places [inKernel + 1]set
	guards set // rules that have an under

	exact  map[string]entry
	prefix []prefixEntry // a few dozen, and the result is kept

	mu   sync.Mutex
	seen map[string]entry
}

// entry holds the rules that name a function and those that have it as under.
type entry struct{ names, under set }

type prefixEntry struct {
	prefix string
	entry
}

func newMatcher(rules []rule) *matcher {
	if len(rules) > 64 {
		panic("where: more rules than fit into a set")
	}
	m := &matcher{rules: rules, exact: make(map[string]entry), seen: make(map[string]entry)}
	prefixes := make(map[string]entry)
	add := func(pattern string, names, under set) {
		to := m.exact
		prefix, ok := strings.CutSuffix(pattern, "*")
		if ok {
			to = prefixes
		}
		e := to[prefix]
		to[prefix] = entry{e.names | names, e.under | under}
	}
	for i, r := range rules {
		bit := set(1) << i
		m.places[r.where] |= bit
		for _, n := range r.names {
			add(n, bit, 0)
		}
		for _, n := range r.under {
			m.guards |= bit
			add(n, 0, bit)
		}
	}
	for p, e := range prefixes {
		m.prefix = append(m.prefix, prefixEntry{p, e})
	}
	return m
}

// find returns the rules that know a function.
func (m *matcher) find(name string) entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.seen[name]
	if ok {
		return e
	}
	e = m.exact[name]
	for _, p := range m.prefix {
		if strings.HasPrefix(name, p.prefix) {
			e.names |= p.names
			e.under |= p.under
		}
	}
	m.seen[name] = e
	return e
}

// first returns the first of the rules as a class.
func (m *matcher) first(s set) (Class, bool) {
	if s == 0 {
		return "", false
	}
	return m.rules[bits.TrailingZeros64(uint64(s))].class, true
}

// all returns the rules that know any of the functions.
func (m *matcher) all(names []string) (s set) {
	for _, n := range names {
		s |= m.find(n).names
	}
	return s
}

// kernel classifies the kernel's part of a stack by the rules that know it:
// PageFaults, Syscalls, or nothing.
func (m *matcher) kernel(s set) (Class, bool) { return m.first(s & m.places[inKernel]) }

// union gathers the rules that know the runtime's part of a stack, innermost
// function first.
type union struct {
	innermost, names, under set
	some                    bool
}

func (u *union) add(e entry) {
	if !u.some {
		u.innermost, u.some = e.names, true
	}
	u.names |= e.names
	u.under |= e.under
}

// user classifies the runtime's part of a stack.
func (m *matcher) user(u *union) (Class, bool) {
	s := u.names&m.places[anywhere] | u.innermost&m.places[leaf]
	return m.first(s &^ (m.guards &^ u.under))
}
