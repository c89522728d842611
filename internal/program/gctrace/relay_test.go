package gctrace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

// relayed is one run of processes whose output a relay such as cat passes on: it reads
// what has gathered, and what it writes is cut at the size of a packet.
type relayed struct {
	processes int
	turns     int // how many writes a thread has in a row, on average
	seed      uint64
}

// run returns how many lines stayed in the text and which lines of the text are not
// those that the processes wrote.
func (m relayed) run() (missing int, wrong []string) {
	r := rand.New(rand.NewPCG(m.seed, 1))
	var threads [][]string
	written := make(map[string]bool)
	cycles := 0
	for p := range m.processes {
		var trace, text []string
		for k := range 30 {
			c := Cycle{
				N: k + 1, At: time.Duration(k) * time.Millisecond, Percent: r.IntN(30), Procs: 2, HasStacks: true,
				SweepTermClock: 12 * time.Microsecond, MarkClock: time.Millisecond, MarkTermClock: 54 * time.Microsecond,
				BackgroundCPU: 123 * time.Microsecond, HeapStart: 4 << 20, HeapEnd: 4 << 20, Goal: 4 << 20,
			}
			cycles++
			trace = append(trace, fragments(c.String()+"\n")...)
		}
		for k := range 400 {
			s := fmt.Sprintf("%c text %d%s", 'A'+p, k, []string{"\n", " gc is fun\n", " loading 5%\n"}[k%3])
			written[s] = true
			text = append(text, s)
		}
		threads = append(threads, trace, text)
	}
	res := newResult(Options{})
	res.filter.Write([]byte(sample)) // shows the relay
	res.cycles = nil
	var gathered []byte
	cur, gather := 0, 1
	for {
		var ready []int
		for i := range threads {
			if len(threads[i]) > 0 {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 || gather == 0 {
			for p := range slices.Chunk(gathered, maxSegment) {
				res.filter.Write(p)
			}
			gathered = gathered[:0]
			gather = 1 + r.IntN(1+int(m.seed%700))
		}
		if len(ready) == 0 {
			break
		}
		if len(threads[cur]) == 0 || r.IntN(m.turns) == 0 {
			cur = ready[r.IntN(len(ready))]
		}
		if len(threads[cur]) > 0 {
			gathered = append(gathered, threads[cur][0]...)
			threads[cur] = threads[cur][1:]
			gather--
		}
	}
	res.filter.Flush()
	for _, line := range strings.SplitAfter(res.out.String(), "\n") {
		if line != "" && !written[line] {
			wrong = append(wrong, line)
		}
	}
	return cycles - len(res.cycles), wrong
}

// TestRelayModel shows what TestRelay can show only now and then: where a relay's cut
// falls within a line of text, what follows is not taken for a trace line.
func TestRelayModel(t *testing.T) {
	testenv.Alone(t)
	prepareLines()
	for _, model := range []struct {
		relayed
		missing float64 // at most, of all trace lines
	}{
		{relayed{processes: 1, turns: 8}, 0.002},
		{relayed{processes: 1, turns: 60}, 0.002},
		{relayed{processes: 2, turns: 60}, 0.03},
		{relayed{processes: 2, turns: 8}, 0.2},
	} {
		seeds := uint64(testenv.Some(30, 200))
		missing := 0
		for seed := range seeds {
			m := model.relayed
			m.seed = seed
			n, wrong := m.run()
			missing += n
			if n == 0 && len(wrong) > 0 {
				t.Errorf("%+v: text has %q", m, wrong)
			}
		}
		if all := float64(seeds) * 30 * float64(model.processes); float64(missing) > max(1, all*model.missing) {
			t.Errorf("%+v: %d of %.0f trace lines stayed in the text", model.relayed, missing, all)
		}
	}
}
