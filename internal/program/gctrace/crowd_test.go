package gctrace

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

// crowd is one run of processes that collect all the time and write to one pipe, without
// a relay. They cut each other off as on a machine with fewer CPUs than processes.
type crowd struct {
	processes int
	turns     int // how many writes a thread has in a row, on average
	seed      uint64
}

// run returns how many lines stayed in the text, and by how many bytes the text that came
// out is too long.
func (m crowd) run() (missing, extra int) {
	const collections, texts = 80, 300
	r := rand.New(rand.NewPCG(m.seed, 2))
	ms := func() time.Duration {
		most := []int{1000, 10_000, 60_000}[r.IntN(3)]
		s := scanner{b: appendMillis(nil, time.Duration(r.IntN(most))*time.Microsecond)}
		return s.millis()
	}
	mib := func() uint64 { return uint64(r.IntN(6)) << 20 }
	res := newResult(Options{})
	var threads [][]string
	cycles, size := 0, 0
	for p := range m.processes {
		var trace, text []string
		for k := range collections {
			c := Cycle{
				N: k + 1, At: time.Duration(4*k) * time.Millisecond, Percent: r.IntN(30), Procs: 2, HasStacks: true,
				SweepTermClock: ms(), MarkClock: ms(), MarkTermClock: ms(),
				SweepTermCPU: ms(), AssistCPU: ms(), BackgroundCPU: ms(), IdleCPU: ms(), MarkTermCPU: ms(),
				HeapStart: mib(), HeapEnd: mib(), HeapLive: mib(), Goal: 4 << 20,
			}
			cycles++
			trace = append(trace, fragments(c.String()+"\n")...)
		}
		for k := range texts {
			s := fmt.Sprintf("%ctext %d%s", 'A'+p, k, []string{"\n", ";", " gc is fun\n", "%: "}[k%4])
			size += len(s)
			text = append(text, s)
		}
		threads = append(threads, trace, text)
	}
	for cur := 0; ; {
		var ready []int
		for i := range threads {
			if len(threads[i]) > 0 {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			break
		}
		if len(threads[cur]) == 0 || r.IntN(m.turns) == 0 {
			cur = ready[r.IntN(len(ready))]
		}
		if len(threads[cur]) > 0 {
			res.filter.Write([]byte(threads[cur][0]))
			threads[cur] = threads[cur][1:]
		}
	}
	res.filter.Flush()
	return cycles - len(res.cycles), res.out.Len() - size
}

// TestCrowdModel shows what TestRealPrograms can show only now and then: of processes that
// cut each other off at every write all lines are found, and nothing else.
func TestCrowdModel(t *testing.T) {
	testenv.Alone(t)
	prepareLines()
	for _, m := range []crowd{{processes: 3, turns: 1}, {processes: 4, turns: 1}, {processes: 4, turns: 2}, {processes: 6, turns: 2}} {
		if testing.Short() && m.processes > 4 {
			continue
		}
		for m.seed = range uint64(testenv.Some(1, 6)) {
			if missing, extra := m.run(); missing != 0 || extra != 0 {
				t.Errorf("%+v: %d lines stayed in the text, which is %d bytes too long", m, missing, extra)
			}
		}
	}
}
