package lab

import "unsafe"

// The loops that are timed, and nothing else. They are as good as what a C
// compiler makes of cmd/bench/pages/c, which do the same in the same order.
// The callers see to it that all offsets lie within the memory.

// A linear congruential generator with a power of two as modulus. Its high bits
// are what is used (Knuth's MMIX constants).
const (
	lcgMul = 6364136223846793005
	lcgInc = 1442695040888963407
)

// line is how far apart the slots of a chain are: a cache line, so that each
// step of a chase loads another one.
const line = 64

// link makes a chain through all slots of 1<<bits lines from base: each slot
// holds the offset of the next. The order is random, and after 1<<bits steps the
// chain is back where it began.
//
// The states of the generator modulo 1<<bits are one cycle through all
// numbers. Its low bits are little random, so a slot's number is the state with
// its upper half folded into the lower one, which can be undone: slots are
// filled one after another, without random access.
//
//go:norace
//go:noinline
func link(base unsafe.Pointer, bits uint) {
	mask := uint64(1)<<bits - 1
	half := (bits + 1) / 2
	for slot := range mask + 1 {
		state := slot ^ slot>>half
		next := (state*lcgMul + lcgInc) & mask
		next ^= next >> half
		// Safety: slot*line is below line<<bits, the size that the caller has mapped.
		*(*uint64)(unsafe.Add(base, slot*line)) = next * line
	}
}

// chase takes n steps along a chain, each of which must wait for the one before.
//
//go:norace
//go:noinline
func chase(base unsafe.Pointer, at uint64, n int) uint64 {
	for ; n > 0; n-- {
		// Safety: slots hold offsets of slots, see link.
		at = *(*uint64)(unsafe.Add(base, at))
	}
	return at
}

// read reads n random 8-byte words of 8<<bits bytes, with bits at most 40, and n
// a multiple of 4; no read depends on another. How many of them a processor has
// under way at once depends on how few instructions stand between them: so the
// loop is unrolled, and the generator's constants come in registers, where the
// compiler would load them anew for each read.
//
//go:norace
//go:noinline
func read(base unsafe.Pointer, bits uint, state, mul, inc uint64, n int) (sum uint64) {
	mask := uint64(1)<<bits - 1
	for ; n > 0; n -= 4 {
		// Safety: the mask leaves the number of one of the 1<<bits words.
		state = state*mul + inc
		sum += *(*uint64)(unsafe.Add(base, (state>>24&mask)*8))
		state = state*mul + inc
		sum += *(*uint64)(unsafe.Add(base, (state>>24&mask)*8))
		state = state*mul + inc
		sum += *(*uint64)(unsafe.Add(base, (state>>24&mask)*8))
		state = state*mul + inc
		sum += *(*uint64)(unsafe.Add(base, (state>>24&mask)*8))
	}
	return sum
}

// touch writes a byte to each step of n bytes from base.
//
//go:norace
//go:noinline
func touch(base unsafe.Pointer, n, step uint64) {
	for at := uint64(0); at < n; at += step {
		// Safety: at is below n, which the caller has mapped.
		*(*byte)(unsafe.Add(base, at)) = 42
	}
}
