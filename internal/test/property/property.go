// Package property checks what holds for all inputs on a hundred random ones. It is for the
// packages that programs import, whose module needs nothing but golang.org/x/sys: it has no
// shrinking of inputs that fail, but says what was drawn, and the seed to draw it again.
package property

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// seedVariable repeats a check: it has the seed that a failure printed.
const seedVariable = "FOLIO_TEST_SEED"

// inputs is on how many inputs a property is checked.
const inputs = 100

// A T draws the inputs of one check. What is drawn has a name, which a failure prints.
type T struct {
	*testing.T
	rand  *rand.Rand
	drawn []string
}

// Check runs a property on random inputs, until one fails the test. The range of a draw is
// drawn from evenly; one in eight is an end of it.
func Check(t *testing.T, holds func(*T)) {
	t.Helper()
	first, count := rand.Uint64(), uint64(inputs)
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
		first, count = seed, 1
	}
	for n := range count {
		p := &T{T: t, rand: rand.New(rand.NewPCG(first+n, 1))}
		func() {
			defer func() {
				if t.Failed() {
					t.Logf("repeat with %s=%d: %s", seedVariable, first+n, strings.Join(p.drawn, ", "))
				}
			}()
			holds(p)
		}()
		if t.Failed() {
			return
		}
	}
}

func draw[V any](t *T, name string, v V) V {
	t.drawn = append(t.drawn, fmt.Sprintf("%s %v", name, v))
	return v
}

// end says whether an end of the range is drawn, and which.
func (t *T) end() (low, high bool) {
	n := t.rand.IntN(16)
	return n == 0, n == 1
}

// Float draws a number from low to high.
func (t *T) Float(name string, low, high float64) float64 {
	v := low + t.rand.Float64()*(high-low)
	if low > 0 && high/low > 100 { // as many small ones as large ones
		v = low * math.Pow(high/low, t.rand.Float64())
	}
	switch l, h := t.end(); {
	case l:
		v = low
	case h:
		v = high
	}
	return draw(t, name, min(max(v, low), high))
}

// Uint draws a number from low to high, both included.
func (t *T) Uint(name string, low, high uint64) uint64 {
	v := low
	if span := high - low; span == math.MaxUint64 {
		v = t.rand.Uint64()
	} else {
		v += t.rand.Uint64N(span + 1)
	}
	switch l, h := t.end(); {
	case l:
		v = low
	case h:
		v = high
	}
	return draw(t, name, v)
}

// Int draws a number from low to high, both included.
func (t *T) Int(name string, low, high int) int {
	return low + int(t.Uint(name, 0, uint64(high-low)))
}

// Bool draws true or false.
func (t *T) Bool(name string) bool { return draw(t, name, t.rand.IntN(2) == 1) }

// Strings draws up to most of the parts, in any order.
func (t *T) Strings(name string, most int, parts ...string) []string {
	out := make([]string, t.rand.IntN(most+1))
	for i := range out {
		out[i] = parts[t.rand.IntN(len(parts))]
	}
	t.drawn = append(t.drawn, fmt.Sprintf("%s %q", name, out))
	return out
}
