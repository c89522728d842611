package arenabench

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A treap is a map in order.
func TestTreap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, way, err := Lookup("index", rapid.SampledFrom([]string{"new", "folio"}).Draw(t, "way"))
		if err != nil {
			t.Fatal(err)
		}
		s := way.open()
		defer s.close()
		tr, model := &treap{space: s}, make(map[string]uint64)
		for range rapid.IntRange(0, 200).Draw(t, "puts") {
			key := rapid.StringN(0, 2, -1).Draw(t, "key")
			v := rapid.Uint64().Draw(t, "value")
			h := uint64(1) // of the key: equal keys have equal priorities
			for i := range len(key) {
				h = mix(h ^ uint64(key[i]))
			}
			tr.put(key, h&7, v) // few priorities, many equal ones
			model[key] = v
		}
		for key, want := range model {
			if v, ok := tr.get(key); !ok || v != want {
				t.Fatalf("%q: %d, %v, want %d", key, v, ok, want)
			}
		}
		if _, ok := tr.get("no such key"); ok {
			t.Fatal("a key that was never put")
		}
		var keys []string
		tr.root.walk(func(e *entry) {
			keys = append(keys, e.key)
			if e.left != nil && e.left.priority > e.priority || e.right != nil && e.right.priority > e.priority {
				t.Fatalf("%q has less priority than what is below it", e.key)
			}
		})
		if want := slices.Sorted(maps.Keys(model)); !slices.Equal(keys, want) {
			t.Fatalf("keys %q, want %q", keys, want)
		}
	})
}

func TestKeysDiffer(t *testing.T) {
	const n = 1 << 14
	text := string(makeKeys(n))
	var keys []string
	for i := range n {
		keys = append(keys, text[i*keyLen:(i+1)*keyLen])
	}
	slices.SortFunc(keys, cmp.Compare[string])
	if got := len(slices.Compact(keys)); got != n {
		t.Errorf("%d of %d keys differ", got, n)
	}
}
