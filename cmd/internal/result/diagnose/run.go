package diagnose

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// A NextStep is what to try next: what was seen, why Folio says so, and what to do.
type NextStep struct {
	Rule string `json:"rule" redact:"keep"`
	// Gain is the most that it can gain, as a part of CPU time; 0 where that is not known.
	Gain     float64 `json:"gain_fraction"`
	What     string  `json:"what" redact:"prose"`
	Evidence string  `json:"evidence" redact:"prose"`
	Fix      string  `json:"fix" redact:"line"`
	Source   string  `json:"source" redact:"keep"` // where what helps is explained
}

// rules are the advice, in order of how much each can gain at most.
var rules = []struct {
	name   string
	source string
	look   func(*RunFacts) (gain float64, f NextStep, ok bool)
}{
	{"gc", "https://go.dev/doc/gc-guide", adviseGC},
	{"tiny-heap", docTinyHeap, adviseTinyHeap},
	{"page-faults", docGuideTHP, adviseFaults},
	{"allocation", "https://go.dev/doc/gc-guide#Eliminating_heap_allocations", adviseAllocation},
	{"growth", "https://pkg.go.dev/slices#Grow", adviseGrowth},
	{ruleAssists, sourceAssists, adviseAssists},
}

// Advise returns the recommendations: what keeps the program from being killed, and then
// the largest possible gain first. It returns nothing when memory is not the program's
// problem.
func (s *RunFacts) Advise() []NextStep {
	var out []NextStep
	var gains []float64
	for _, r := range rules {
		gain, f, ok := r.look(s)
		if !ok {
			continue
		}
		f.Rule, f.Source, f.Gain = r.name, r.source, gain
		i := len(gains)
		for i > 0 && gains[i-1] < gain {
			i--
		}
		gains = append(gains[:i], append([]float64{gain}, gains[i:]...)...)
		out = append(out[:i], append([]NextStep{f}, out[i:]...)...)
	}
	if f, ok := adviseOOM(s); ok {
		out = append([]NextStep{f}, out...)
	}
	return out
}

// Thresholds below which nothing is worth a user's time.
const (
	littleGC     = 0.02 // of CPU time
	littleSys    = 0.05
	manyFaults   = 5000
	manyCyclesHz = 50
	tinyHeap     = 16 << 20
)

// What doctor and run say of a small heap that is collected often.
const (
	tinyCosts   = "each GC cycle stops and starts all threads, which no GC figure counts"
	tinyGOGC    = "400"
	docTinyHeap = "https://blog.cloudflare.com/go-dont-collect-my-garbage/"
)

// adviseTinyHeap finds source 4's case: a live heap of a few MiB that is
// collected hundreds of times a second. A heap whose trace was not seen may be larger.
func adviseTinyHeap(s *RunFacts) (float64, NextStep, bool) {
	if s.Cycles == nil || s.AtLeast || s.Span <= 0 || s.HeapPeak == nil || *s.HeapPeak > tinyHeap {
		return 0, NextStep{}, false
	}
	rate := *s.Cycles / s.Span
	if rate < manyCyclesHz || *s.Cycles < 20 || s.gogcGiven() {
		return 0, NextStep{}, false
	}
	share, ok := s.gcShare()
	if !ok {
		share, _ = s.runtimeShare()
	}
	most := "heap at most"
	if s.PID != 0 {
		most = "largest heap seen" // some cycles ended between two looks
	}
	return min(share, 1), NextStep{
		What:     "Collect a small heap less often: " + tinyCosts,
		Evidence: fmt.Sprintf("%s GCs/s, %s %s", unit.Rate(rate), most, unit.Bytes(*s.HeapPeak)),
		Fix:      s.line("run", "--gogc="+tinyGOGC),
	}, true
}

// gogcGiven says that GOGC was set for this run.
func (s *RunFacts) gogcGiven() bool {
	return s.Setting.GOGC != "" || slices.ContainsFunc(s.Setting.Env, func(kv string) bool { return strings.HasPrefix(kv, "GOGC=") })
}

// line returns a folio command on the program, to paste into a shell. A server does
// not end by itself: its line has what puts it under load. What is still to be filled
// in, or to be done before, is behind it as a comment.
func (s *RunFacts) line(command ...string) string { return s.lineWith("", command...) }

func (s *RunFacts) lineWith(remark string, command ...string) string {
	words := slices.Concat([]string{"folio"}, command, s.settingFlags(command), s.Flags)
	if s.ExitCode != 0 && !slices.Contains(words, "--ignore-exit") {
		words = append(words, "--ignore-exit") // else each run would count as failed
	}
	var all []string
	if remark != "" {
		all = append(all, remark)
	}
	if s.serves() {
		words = append(words, "--ready", s.ready(), "--rate", "auto", "--target", "http://"+strings.TrimPrefix(s.ready(), "tcp:")+"/")
		all = append(all, "--target: what its clients request; if that is not HTTP, --load 'LOAD_COMMAND' in place of --rate")
	}
	if len(s.Command) > 0 { // a program that folio builds may have no arguments
		words = append(append(words, "--"), s.Command...)
	}
	for i, w := range words {
		words[i] = trial.Quote(w)
	}
	if s.PID != 0 {
		all = append(all, fmt.Sprintf("stop process %d first, and run this in its directory and environment", s.PID))
	}
	text := strings.Join(words, " ")
	if len(all) > 0 {
		text += "   # " + strings.Join(all, "; ")
	}
	return text
}

// settingFlags are those of the setting that the program was run with, but for what the
// command changes itself: one flag, or what folio tune searches.
func (s *RunFacts) settingFlags(command []string) (out []string) {
	set, tune := s.Setting, command[0] == "tune"
	own := func(flag string) bool {
		return slices.ContainsFunc(command, func(w string) bool { return strings.HasPrefix(w, flag+"=") })
	}
	add := func(flag, value string) {
		if value != "" && !own(flag) {
			out = append(out, flag+"="+value)
		}
	}
	ownVariable := func(v *trial.GoVariable) bool { return v != nil && (tune && v.Searched || own("--"+v.Flag)) }
	for _, kv := range set.Env {
		if name, _, _ := strings.Cut(kv, "="); !ownVariable(trial.GoVariableNamed(name)) && !slices.Contains(command, kv) {
			out = append(out, "--env", kv)
		}
	}
	for i := range trial.GoVariables {
		v := &trial.GoVariables[i]
		switch value := v.Of(set); {
		case value == "" || ownVariable(v):
		case tune: // there its flag is one more to try
			out = append(out, "--env", v.Name+"="+value)
		default:
			out = append(out, "--"+v.Flag+"="+value)
		}
	}
	thp := set.THP
	if slices.Contains(s.Flags, "--build") { // whose default is another
		switch thp {
		case trial.THPHeap:
			thp = ""
		case trial.THPSystem:
			thp = "system"
		}
	}
	if !tune {
		add("--thp", string(thp))
	}
	add("--go", set.Build.Go)
	add("--goexperiment", set.Build.Experiments)
	add("--goamd64", set.Build.AMD64)
	add("--pgo", set.Build.PGO)
	add("--patch", set.Build.Patches)
	return out
}

// serves says that the program looks like a server, and was not run as one: folio
// tune would wait for its end.
func (s *RunFacts) serves() bool {
	return !s.Server && (s.PID != 0 || s.Stopped && len(s.Listening) > 0)
}

// ready is the address at which a server answers, as --ready takes it.
func (s *RunFacts) ready() string {
	if len(s.Listening) == 0 {
		return "tcp:HOST:PORT"
	}
	addr, err := netip.ParseAddrPort(s.Listening[0])
	if err == nil && addr.Addr().IsUnspecified() {
		return fmt.Sprintf("tcp:localhost:%d", addr.Port())
	}
	return "tcp:" + s.Listening[0]
}
