package auto

import (
	"fmt"
	"math"
	"strings"

	"github.com/foliomem/folio/gctune"
	"github.com/foliomem/folio/goheap"
	"github.com/foliomem/folio/internal/base/advice"
	"github.com/foliomem/folio/internal/base/config"
)

// settings are what FOLIO says.
type settings struct {
	heap, gc, log bool
	options       goheap.Options
	memoryPerCPU  uint64
	secondP       gctune.SecondP
}

// others are keys that other packages of Folio read.
var others = map[string]bool{"arenadebug": true}

// read returns what the variable says, and what is wrong with it.
func read(env string) (s settings, wrong []error) {
	s = settings{heap: true, gc: true, options: goheap.Options{ReserveMode: goheap.ReserveAdaptive}}
	mode, given := "", false // given: reserve
	for _, item := range config.Parse(env) {
		var err error
		switch item.Key {
		case "off":
			var off bool
			if off, err = item.Bool(); err == nil && off {
				return settings{log: s.log}, wrong
			}
		case "all":
			var on bool
			if on, err = item.Bool(); err == nil && !on {
				return settings{log: s.log}, wrong
			}
		case "heap":
			switch item.Value {
			case "collapse", "reserve", "off":
				mode = item.Value
			default:
				err = item.Wrong("collapse, reserve or off")
			}
		case "reserve":
			switch item.Value {
			case "limit":
				s.options.Reserve, s.options.ReserveMode = 0, goheap.ReserveLimit
			case "adaptive":
				s.options.Reserve, s.options.ReserveMode = 0, goheap.ReserveAdaptive
			default:
				var n int64
				if n, err = item.Size(); err == nil {
					s.options.Reserve, s.options.ReserveMode = n, goheap.ReserveFixed
				}
			}
			given = given || err == nil
		case "minheap":
			if s.options.MinHeap, err = item.Size(); err == nil && s.options.MinHeap == 0 {
				s.options.MinHeap = 1 // any
			}
		case "density":
			s.options.MinDensity, err = item.Share(advice.LeastDenseWindow)
		case "bloat":
			s.options.MaxBloat, err = item.Share(0.01)
		case "budget":
			s.options.Budget, err = item.Share(0.001)
		case "release":
			var on bool
			on, err = item.Bool()
			s.options.NoRelease = err == nil && !on
		case "gc":
			var on bool
			if on, err = item.Bool(); err == nil {
				s.gc = on
			}
		case "percpu":
			var n int64
			if n, err = item.Size(); err == nil {
				s.memoryPerCPU = uint64(n)
				if n == 0 {
					s.memoryPerCPU = math.MaxUint64 // any
				}
			}
		case "secondp":
			switch item.Value {
			case "sweep":
				s.secondP = gctune.SecondPSweep
			case "gc":
				s.secondP = gctune.SecondPGC
			default:
				if on, e := item.Bool(); on || e != nil {
					err = item.Wrong("sweep, gc or off")
				} else {
					s.secondP = gctune.SecondPOff
				}
			}
		case "log":
			s.log, err = item.Bool()
		default:
			if !others[item.Key] {
				err = fmt.Errorf("FOLIO: %s: no such setting: want %s", item, strings.Join(keys, ", "))
			}
		}
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	switch mode {
	case "off":
		s.heap = false
	case "reserve":
		s.options.NoCollapse = true
		if !given || s.options.ReserveMode == goheap.ReserveFixed && s.options.Reserve == 0 {
			s.options.ReserveMode = goheap.ReserveLimit
		}
	}
	return s, wrong
}

// keys are those of the table in the package's documentation.
var keys = []string{"off", "heap", "reserve", "minheap", "density", "bloat", "release", "budget", "gc", "percpu", "secondp", "log", "arenadebug"}
