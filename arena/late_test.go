package arena

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/foliomem/folio/internal/test/testenv"
)

var lateFor = flag.Duration("late", 0, "how long TestLateWrites runs, in all (default 3s, in full tests 1m)")

// stressEnvs are environments in which the GC finds its own mistakes, and a usual one. With clobberfree
// it overwrites what it frees, with gccheckmark it stops the program after marking and
// marks again.
var stressEnvs = []string{"GODEBUG=clobberfree=1", "GODEBUG=clobberfree=1,gccheckmark=1", "GODEBUG="}

// TestLateWrites stores pointers through what was kept past Free, Reset and Put, and
// follows them, while the GC runs all the time. It must never lose one, however
// the memory is reused, discarded or freed meanwhile. An hour:
//
//	go test ./arena -run TestLateWrites -late 1h -timeout 2h
func TestLateWrites(t *testing.T) {
	switch {
	case testing.Short():
		t.Skip("takes seconds")
	case raceEnabled:
		t.Skip("the race detector would report the late writes")
	case debugBuild:
		t.Skip("debug mode reuses no slabs")
	}
	all := *lateFor
	if all == 0 && testenv.Full() {
		all = time.Minute
	} else if all == 0 {
		all = 3 * time.Second
	}
	each := all / time.Duration(len(stressEnvs))
	for _, env := range stressEnvs {
		t.Run(env, func(t *testing.T) {
			if out, err := child(t, "late writes", env, "FOLIO=", "ARENA_TEST_FOR="+each.String()); err != nil {
				t.Fatalf("%v\n%s", err, out)
			} else {
				t.Log(out)
			}
		})
	}
}

func init() {
	roles["late writes"] = func() int {
		d, err := time.ParseDuration(os.Getenv("ARENA_TEST_FOR"))
		if err != nil {
			fmt.Println(err)
			return 2
		}
		return lateWrites(d)
	}
}

// late is what late writers store to: 1 KiB, so that an arena is filled fast.
type late struct {
	leaf *lateLeaf
	_    [126]uint64
	_    *lateLeaf // the GC looks at all of it
}

type lateLeaf struct{ a, b, c, d uint64 }

const lateMagic = 0x1122334455667788

func newLateLeaf(n uint64) *lateLeaf { return &lateLeaf{lateMagic, n, lateMagic, n} }

// ok reports whether l is a leaf that nobody freed; nil is one that was cleared.
func (l *lateLeaf) ok() bool {
	return l == nil || l.a == lateMagic && l.c == lateMagic && l.b == l.d
}

const lateKept = 128 // pointers of an arena that are kept

// lateArena fills an arena of 16 MiB, several windows of huge pages, and
// returns pointers to lateKept values in it.
func lateArena(o *Options) (*Arena, *[lateKept]*late) {
	a := NewArenaWith(o)
	return a, lateFill(a)
}

func lateFill(a *Arena) *[lateKept]*late {
	const n = 16 << 20 / unsafe.Sizeof(late{})
	kept, h := new([lateKept]*late), Of[late](a)
	for i := range n {
		if p := h.New(); i%(n/lateKept) == 0 {
			kept[i/(n/lateKept)] = p
		}
	}
	return kept
}

// lateEnds are the ways in which what was allocated from an arena ends, and then its
// memory: after the late writes, or meanwhile on another goroutine.
var lateEnds = []struct {
	name      string
	o         *Options
	before    func(*Arena)
	then      func(*Arena)
	meanwhile bool
}{
	{"Reset, then Free", &Options{NoIdle: true}, (*Arena).Reset, (*Arena).Free, false},
	{"Reset, then Put", &Options{NoIdle: true}, (*Arena).Reset, (&Pool{NoKeep: true}).Put, false},
	{"Free, then idle memory shrinks", nil, (*Arena).Free, shrinkAll, false},
	{"Free, then nothing", nil, (*Arena).Free, func(*Arena) {}, false},
	{"Free, then reuse", nil, (*Arena).Free, reuseAll, false},
	{"Put, then Get", nil, latePool.Put, getAll, false},
	{"Free meanwhile", &Options{NoIdle: true}, func(*Arena) {}, (*Arena).Free, true},
	{"Free, idle memory shrinks meanwhile", nil, (*Arena).Free, shrinkAll, true},
	{"Free, reuse meanwhile", nil, (*Arena).Free, reuseAll, true},
	{"Put, Get meanwhile", nil, latePool.Put, getAll, true},
}

var latePool = Pool{KeepBytes: 12 << 20}

func shrinkAll(*Arena) { tended.shrink(-1 << 40) }

func reuseAll(*Arena) {
	a, _ := lateArena(nil)
	a.Free()
}

func getAll(*Arena) {
	a := latePool.Get()
	lateFill(a)
	a.Free()
}

// lateWrites runs rounds of late writes for a while.
func lateWrites(d time.Duration) int {
	ballast := make([]*[2]*late, 1<<19) // so that marking takes a while
	for i := range ballast {
		ballast[i] = new([2]*late)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	code, rounds := 0, uint64(0)
	for last := time.Now().Add(d); code == 0 && time.Now().Before(last); rounds++ {
		way := lateEnds[rounds%uint64(len(lateEnds))]
		a, kept := lateArena(way.o)
		way.before(a)
		end := func() { way.then(a) }
		round := lateRound
		if way.meanwhile {
			round = lateMeanwhile
		}
		if code = round(kept, rounds, end); code != 0 {
			fmt.Println(way.name)
		}
	}
	close(stop)
	wg.Wait()
	runtime.KeepAlive(ballast)
	fmt.Println("rounds:", rounds)
	return code
}

// lateRound stores pointers through what was kept, waits for some part of a cycle, loads
// them, so that once the memory has gone only its stack has them, and looks whether
// they are there still after two cycles.
func lateRound(kept *[lateKept]*late, n uint64, end func()) int {
	if !lateStore(kept, n) {
		return 1
	}
	for last := time.Now().Add(rand.N(20 * time.Millisecond)); time.Now().Before(last); {
		runtime.Gosched()
	}
	var loaded [lateKept]*lateLeaf
	for i, p := range kept {
		loaded[i] = p.leaf
	}
	end()
	return lateLook(&loaded, n)
}

// lateMeanwhile is lateRound while another goroutine ends the memory.
func lateMeanwhile(kept *[lateKept]*late, n uint64, end func()) int {
	done := make(chan struct{})
	go func() {
		end()
		close(done)
	}()
	var loaded [lateKept]*lateLeaf
	for {
		if !lateStore(kept, n) {
			return 1
		}
		for i, p := range kept {
			loaded[i] = p.leaf
		}
		select {
		case <-done:
			return lateLook(&loaded, n)
		default:
		}
	}
}

func lateStore(kept *[lateKept]*late, n uint64) bool {
	for i, p := range kept {
		if l := p.leaf; !l.ok() {
			fmt.Printf("round %d: value %d leads to %+v\n", n, i, *l)
			return false
		}
		p.leaf = newLateLeaf(n)
	}
	return true
}

func lateLook(loaded *[lateKept]*lateLeaf, n uint64) int {
	for range 2 {
		runtime.GC()
	}
	for i, l := range loaded {
		if !l.ok() {
			fmt.Printf("round %d: what was loaded from value %d is %+v now\n", n, i, *l)
			return 1
		}
	}
	return 0
}
