package arena

import (
	"reflect"
	"testing"
)

// TestDepotIsFound: a type has one depot, near or not.
func TestDepotIsFound(t *testing.T) {
	type value struct{ _ [3]int16 }
	d := depotOf[value]()
	place, other := near(reflect.TypeFor[value]())
	if n := place.Load(); n == nil || n.depot != tender(d) {
		if n := other.Load(); n == nil || n.depot != tender(d) {
			t.Skip("other types have its places")
		}
	}
	was, next := place.Load(), other.Load()
	defer place.Store(was)
	defer other.Store(next)
	foreign := &nearDepot{depotOf[[7]int16]()}
	place.Store(foreign)
	other.Store(foreign)
	if got := depotOf[value](); got != d {
		t.Errorf("with its places taken: %p, want %p", got, d)
	}
	place.Store(nil)
	if got := depotOf[value](); got != d {
		t.Errorf("with its place empty: %p, want %p", got, d)
	}
	if n := place.Load(); n == nil || n.depot != tender(d) {
		t.Error("an empty place stays empty")
	}
	place.Store(foreign)
	other.Store(&nearDepot{d})
	if got := depotOf[value](); got != d {
		t.Errorf("in its other place: %p, want %p", got, d)
	}
}
