package gctrace

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

const (
	leakCheck = " (checking for goroutine leaks)"
	forced    = " (forced)"
)

// Parse reads one line of GODEBUG=gctrace=1, with or without its newline. It
// accepts what the runtime can print and nothing else. The error names what was
// expected at which byte.
func Parse(line []byte) (Cycle, error) {
	s := scanner{b: line}
	var c Cycle
	s.lit("gc ")
	c.N = int(s.uint(math.MaxInt))
	s.lit(" @")
	c.At = s.seconds()
	s.lit("s ")
	c.Percent = s.percent()
	s.lit("%")
	c.LeakCheck = s.has(leakCheck)
	s.lit(": ")
	c.SweepTermClock = s.millis()
	s.lit("+")
	c.MarkClock = s.millis()
	s.lit("+")
	c.MarkTermClock = s.millis()
	s.lit(" ms clock, ")
	c.SweepTermCPU = s.millis()
	s.lit("+")
	c.AssistCPU = s.millis()
	s.lit("/")
	c.BackgroundCPU = s.millis()
	s.lit("/")
	c.IdleCPU = s.millis()
	s.lit("+")
	c.MarkTermCPU = s.millis()
	s.lit(" ms cpu, ")
	c.HeapStart = s.mib()
	s.lit("->")
	c.HeapEnd = s.mib()
	s.lit("->")
	c.HeapLive = s.mib()
	s.lit(" MB, ")
	c.Goal = s.mib()
	s.lit(" MB goal, ")
	// One number is either the stacks of Go 1.18 and later or the processors.
	at := s.i
	n := s.uint(math.MaxUint64 >> 20)
	if c.HasStacks = s.has(" MB stacks, "); c.HasStacks {
		c.Stacks = n << 20
		c.Globals = s.mib()
		s.lit(" MB globals, ")
		at = s.i
		n = s.uint(math.MaxInt32)
	}
	if n > math.MaxInt32 {
		s.fail("a number of processors in range", at)
	}
	c.Procs = int(n)
	s.lit(" P")
	c.Forced = s.has(forced)
	s.has("\n")
	if s.i < len(s.b) {
		s.fail("the end of the line", s.i)
	}
	if s.err != nil {
		return Cycle{}, s.err
	}
	return c, nil
}

// scanner reads the elements of a line one after another. After the first
// failure every method does nothing, so that Parse need not check each.
type scanner struct {
	b   []byte
	i   int
	err error
}

func (s *scanner) fail(want string, at int) {
	if s.err == nil {
		s.err = fmt.Errorf("gctrace: parse line: expected %s at byte %d", want, at)
	}
}

func (s *scanner) has(lit string) bool {
	if s.err != nil || len(s.b)-s.i < len(lit) || string(s.b[s.i:s.i+len(lit)]) != lit {
		return false
	}
	s.i += len(lit)
	return true
}

func (s *scanner) lit(lit string) {
	if !s.has(lit) {
		s.fail(strconv.Quote(lit), s.i)
	}
}

// digits returns the run of digits here, at most n of them.
func (s *scanner) digits(n int) []byte {
	from := s.i
	for s.err == nil && s.i < len(s.b) && s.i-from < n && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	return s.b[from:s.i]
}

// uint reads a number without leading zeros, as print writes it.
func (s *scanner) uint(limit uint64) uint64 {
	at := s.i
	d := s.digits(math.MaxInt)
	switch {
	case len(d) == 0:
		s.fail("a number", at)
		return 0
	case len(d) > 1 && d[0] == '0':
		s.fail("a number without leading zeros", at)
		return 0
	}
	var v uint64
	for _, c := range d {
		c := uint64(c - '0')
		if v > (limit-c)/10 {
			s.fail("a number up to "+strconv.FormatUint(limit, 10), at)
			return 0
		}
		v = v*10 + c
	}
	return v
}

// percent reads an int. The runtime computes it from a float, so that it can in
// principle be negative.
func (s *scanner) percent() int {
	at := s.i
	if s.has("-") {
		if s.i < len(s.b) && s.b[s.i] == '0' {
			s.fail("a number other than 0 after the minus", s.i)
		}
		return -int(s.uint(math.MaxInt))
	}
	v := s.uint(math.MaxUint64)
	if v > math.MaxInt {
		s.fail("a percentage in range", at)
	}
	return int(v)
}

func (s *scanner) mib() uint64 { return s.uint(math.MaxUint64>>20) << 20 }

// seconds reads a number with exactly three decimals.
func (s *scanner) seconds() time.Duration {
	v := s.uint(math.MaxInt64/1_000_000_000 - 1)
	s.lit(".")
	return time.Duration(v)*time.Second + time.Duration(s.fraction(3))*time.Millisecond
}

// millis reads a duration in the shapes of the runtime: 0, 0.012, 0.12, 1.2 and 12.
func (s *scanner) millis() time.Duration {
	at := s.i
	v := s.uint(math.MaxInt64 / 1_000_000)
	switch {
	case s.err != nil:
		return 0
	case v >= 10:
		return time.Duration(v) * time.Millisecond
	case v > 0:
		s.lit(".")
		return time.Duration(v)*time.Millisecond + time.Duration(s.fraction(1))*100*time.Microsecond
	case !s.has("."):
		return 0
	case s.has("0"):
		if v = s.fraction(2); v == 0 {
			s.fail("a duration other than zero", at)
		}
		return time.Duration(v) * time.Microsecond
	}
	return time.Duration(s.fraction(2)) * 10 * time.Microsecond
}

// fraction reads exactly n digits.
func (s *scanner) fraction(n int) uint64 {
	at := s.i
	d := s.digits(n)
	if len(d) < n {
		s.fail(strconv.Itoa(n)+" decimals", at+len(d))
		return 0
	}
	var v uint64
	for _, c := range d {
		v = v*10 + uint64(c-'0')
	}
	return v
}
