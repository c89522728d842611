package lab

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliomem/folio/gctune"
	"github.com/foliomem/folio/internal/system/procmem"
)

// tuned is how the memory of an arm is managed by package gctune.
const tuned = "gctune"

// account is what this process has done and used so far.
type account struct {
	at         time.Time
	ops        uint64
	cycles     uint64
	collection float64 // CPU-seconds
	cpu        float64
}

// A counter has a cache line to itself: goroutines that count must not wait for
// each other.
type counter struct {
	n atomic.Uint64
	_ [line - 8]byte
}

// gogcWork has goroutines do a workload's operation again and again: for Count
// milliseconds that do not count, then for as long as that, or until one is done.
func gogcWork(p *probe, t Task) error {
	runtime.UnlockOSThread() // which Work has locked: it is one goroutine of several here
	name, how, _ := strings.Cut(t.How, "/")
	l, ok := gogcLoadOf(name)
	if !ok || t.Goroutines < 1 {
		return fmt.Errorf("no workload %q for %d goroutines", name, t.Goroutines)
	}
	if how == tuned {
		tuner, err := gctune.Start(&gctune.Options{Budget: t.Size})
		if err != nil {
			return err
		}
		defer tuner.Stop()
	}
	op, err := l.make(t)
	if err != nil {
		return err
	}
	counters := make([]counter, t.Goroutines)
	var quit atomic.Bool
	var wg sync.WaitGroup
	for i := range counters {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for !quit.Load() {
				op(i, r)
				counters[i].n.Add(1)
			}
		})
	}
	length := time.Duration(t.Count) * time.Millisecond
	time.Sleep(length)
	before := take(counters)
	peak := watch(length)
	after := take(counters)
	for after.ops == before.ops { // no rate is known before one operation is done
		peak = max(peak, watch(length))
		after = take(counters)
	}
	last := percent()
	quit.Store(true)
	wg.Wait()

	elapsed := after.at.Sub(before.at).Seconds()
	rate := float64(after.ops-before.ops) / elapsed
	fraction := 0.0
	if cpu := after.cpu - before.cpu; cpu > 0 {
		fraction = min(max(after.collection-before.collection, 0)/cpu, 1)
	}
	p.point(t.Size, value{opsKey, rate}, value{"goroutine_ops_per_second", rate / float64(t.Goroutines)},
		value{"cycles_per_second", float64(after.cycles-before.cycles) / elapsed}, value{runtimeGC.Key, fraction},
		value{rssKey, float64(peak)}, value{"gogc", last})
	return nil
}

// watch returns the most resident memory that this process has in a time, in
// bytes.
func watch(length time.Duration) (peak uint64) {
	for end := time.Now().Add(length); ; {
		if s, err := (procmem.FS{}).Statm(0); err == nil {
			peak = max(peak, s.RSS)
		}
		left := time.Until(end)
		if left <= 0 {
			return peak
		}
		time.Sleep(min(left, 20*time.Millisecond))
	}
}

func take(counters []counter) account {
	s := []metrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	metrics.Read(s)
	a := account{cycles: s[0].Value.Uint64(), collection: s[1].Value.Float64() - s[2].Value.Float64(), cpu: processTime().Seconds()}
	for i := range counters {
		a.ops += counters[i].n.Load()
	}
	a.at = time.Now()
	return a
}

// percent is the GOGC in force; -1 for off.
func percent() float64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return float64(int32(s[0].Value.Uint64()))
}
