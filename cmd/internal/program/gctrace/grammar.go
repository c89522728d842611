package gctrace

import "sync"

// The filter meets lines byte by byte and has to know at any point whether a
// line may go on with the bytes at hand, and whether the runtime may have been
// interrupted there. So the format of the lines is a state machine, built once.

// state is a position in the format of a line.
type state uint16

const (
	stateNone  state = iota // not a line
	stateStart              // before the first byte
)

type machine struct {
	// class maps the bytes that occur in lines to columns of next; all other
	// bytes share column 0, which leads to stateNone.
	class [256]uint8
	next  [][maxClass]state
	info  []stateInfo
}

const (
	maxClass  = 64
	maxStates = 1400 // room for them; a few more would be no error
)

type stateInfo struct {
	// frag is the fragment the last byte belongs to. The runtime issues one
	// write for each, so bytes of different fragments in one write mean a relay.
	frag uint8
	// edge: a fragment may end here, so that other bytes may follow.
	edge bool
	// num: inside or at the end of a number.
	num bool
	// digits is how many the whole part of a number may have here, so that Parse
	// takes it; 0 for any. It tells whose number a long one is.
	digits uint8
	// done: the line is complete. scavenger tells its two kinds apart.
	done, scavenger bool
}

func (m *machine) step(s state, b byte) state { return m.next[s][m.class[b]] }

// digits counts those of a number.
type digits uint8

// fit counts the step to st and reports whether the number is not too long.
func (n *digits) fit(st state) bool {
	info := &lines.info[st]
	if info.digits == 0 {
		*n = 0
		if info.num {
			*n = 1 // the first digit has a state of its own
		}
		return true
	}
	*n++
	return *n <= digits(info.digits)
}

// lines is the machine of all formats. prepareLines makes it, once: programs
// that never trace do not pay for it.
var (
	lines        machine
	prepareLines = sync.OnceFunc(func() { lines = newMachine() })
)

func newMachine() machine {
	b := &builder{m: &machine{next: make([][maxClass]state, 0, maxStates), info: make([]stateInfo, 0, maxStates)}}
	b.add() // stateNone
	b.add() // stateStart
	b.gc()
	b.scavenger()
	return *b.m
}

// builder adds fragments to a machine. Its methods take the states a fragment
// may follow and return those it may end in. Alternatives that begin with the
// same bytes share states, as long as they are added with the same frag.
type builder struct {
	m       *machine
	classes uint8
	frag    uint8
}

func (b *builder) add() state {
	b.m.next = append(b.m.next, [maxClass]state{})
	b.m.info = append(b.m.info, stateInfo{frag: b.frag})
	return state(len(b.m.next) - 1)
}

// on returns the state that the states in from go to with c, adding it if needed.
func (b *builder) on(from []state, c byte) state {
	if b.m.class[c] == 0 {
		b.classes++
		b.m.class[c] = b.classes
	}
	k := b.m.class[c]
	to := b.m.next[from[0]][k]
	if to == stateNone {
		to = b.add()
	}
	for _, f := range from {
		b.m.next[f][k] = to
	}
	return to
}

// digits makes the digits lo to '9' lead from the states in from to one state.
func (b *builder) digits(from []state, lo byte) state {
	to := b.add()
	b.m.info[to].num = true
	for c := lo; c <= '9'; c++ {
		b.on(from, c) // assigns the class
		for _, f := range from {
			b.m.next[f][b.m.class[c]] = to
		}
	}
	return to
}

func (b *builder) edge(s state) state {
	b.m.info[s].edge = true
	return s
}

// lit adds a constant as a fragment of its own.
func (b *builder) lit(from []state, s string) []state {
	b.frag++
	return b.more(from, s)
}

// more adds a constant which some versions print as part of the fragment before.
func (b *builder) more(from []state, s string) []state {
	var to state
	for i := range len(s) {
		to = b.on(from, s[i])
		from = []state{to}
	}
	return []state{b.edge(to)}
}

// How many digits Parse takes in any case, by kind of number.
const (
	mibDigits    = 13 // a goal without a limit has as many
	countDigits  = 9
	secondDigits = 9
	milliDigits  = 12
)

// uint adds a number without leading zeros.
func (b *builder) uint(from []state, digits uint8) []state {
	b.frag++
	return b.unsigned(from, digits)
}

func (b *builder) unsigned(from []state, digits uint8) []state {
	zero := b.edge(b.on(from, '0'))
	b.m.info[zero].num = true
	rest := b.edge(b.digits(from, '1'))
	b.m.info[rest].digits = digits
	for c := byte('0'); c <= '9'; c++ {
		b.m.next[rest][b.m.class[c]] = rest
	}
	return []state{zero, rest}
}

// int adds a number with a possible minus. Up to Go 1.25 the runtime writes the
// minus by itself, so it ends a fragment too.
func (b *builder) int(from []state) []state {
	b.frag++
	minus := b.edge(b.on(from, '-'))
	digits := b.unsigned(from, countDigits)
	for c := byte('1'); c <= '9'; c++ {
		b.m.next[minus][b.m.class[c]] = digits[1]
	}
	return digits
}

// seconds adds a number with three decimals.
func (b *builder) seconds(from []state) []state {
	whole := b.uint(from, secondDigits)
	for _, s := range whole {
		b.m.info[s].edge = false
	}
	s := b.on(whole, '.')
	b.m.info[s].num = true
	for range 3 {
		s = b.digits([]state{s}, '0')
	}
	return []state{b.edge(s)}
}

// millis adds a duration: 0, 0.012, 0.12, 1.2 or 12.
func (b *builder) millis(from []state) []state {
	b.frag++
	num := func(s state) state {
		b.m.info[s].num = true
		return s
	}
	zero := b.edge(num(b.on(from, '0')))
	point := []state{num(b.on([]state{zero}, '.'))}
	zeros := []state{num(b.on(point, '0'))}
	zeros2 := []state{num(b.on(zeros, '0'))}
	one := []state{b.digits(zeros, '1')}
	tenths := []state{b.digits(point, '1')}
	three := b.edge(b.digits(zeros2, '1'))
	three2 := b.edge(b.digits(one, '0'))
	two := b.edge(b.digits(tenths, '0'))

	unit := []state{b.digits(from, '1')}
	unitPoint := []state{num(b.on(unit, '.'))}
	decimal := b.edge(b.digits(unitPoint, '0'))
	whole := b.edge(b.digits(unit, '0'))
	b.m.info[whole].digits = milliDigits
	for c := byte('0'); c <= '9'; c++ {
		b.m.next[whole][b.m.class[c]] = whole
	}
	return []state{zero, three, three2, two, decimal, whole}
}

// gc adds the lines of GC cycles.
func (b *builder) gc() {
	b.frag = 0
	s := b.lit([]state{stateStart}, "gc ")
	s = b.uint(s, countDigits)
	s = b.lit(s, " @")
	s = b.seconds(s)
	s = b.lit(s, "s ")
	s = b.int(s)
	s = b.lit(s, "%")
	// Up to Go 1.25 "%: " is one fragment, since then two.
	colon := b.more(s, ": ")
	b.frag++
	leak := b.more(s, leakCheck)
	b.frag++
	leak = b.more(leak, ": ")
	s = append(colon, leak...)
	for _, sep := range []string{"+", "+", " ms clock, ", "+", "/", "/", "+", " ms cpu, "} {
		s = b.millis(s)
		s = b.lit(s, sep)
	}
	for _, sep := range []string{"->", "->", " MB, ", " MB goal, "} {
		s = b.uint(s, mibDigits)
		s = b.lit(s, sep)
	}
	// The number of processors, or up to that many MiB of stacks.
	s = b.uint(s, countDigits)
	frag := b.frag
	b.procs(s)
	b.frag = frag
	s = b.lit(s, " MB stacks, ")
	s = b.uint(s, mibDigits)
	s = b.lit(s, " MB globals, ")
	b.procs(b.uint(s, countDigits))
}

// procs adds the end of a line, after the number of processors.
func (b *builder) procs(from []state) {
	s := b.lit(from, " P")
	s = append(s, b.lit(s, forced)...)
	b.end(b.lit(s, "\n"), false)
}

func (b *builder) end(s []state, scavenger bool) {
	b.m.info[s[0]].done = true
	b.m.info[s[0]].scavenger = scavenger
}

// scavenger adds the lines that the background scavenger printed under
// gctrace=1 up to Go 1.13:
//
//	scvg0: 5 MB released
//	scvg0: inuse: 4, idle: 58, sys: 63, released: 57, consumed: 6 (MB)
//
// The number is -1 for debug.FreeOSMemory, and absent in Go 1.13.
func (b *builder) scavenger() {
	b.frag = 0
	name := b.lit([]state{stateStart}, "scvg")
	frag := b.frag
	numbered := b.int(name)
	b.frag++
	b.scavenged(numbered)
	b.frag = frag // Go 1.13 prints the name with what follows it
	b.scavenged(name)
}

func (b *builder) scavenged(from []state) {
	frag := b.frag
	s := b.more(from, ": ")
	n := b.uint(s, mibDigits)
	frag2 := b.frag
	b.end(b.lit(n, " MB released\n"), true)
	b.frag = frag2
	b.end(b.lit(n, " KB released\n"), true) // some development versions of Go 1.14

	b.frag = frag
	s = b.more(s, "inuse: ")
	for _, sep := range []string{", idle: ", ", sys: ", ", released: ", ", consumed: "} {
		s = b.uint(s, mibDigits)
		s = b.lit(s, sep)
	}
	s = b.uint(s, mibDigits)
	b.end(b.lit(s, " (MB)\n"), true)
}
