package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/delay"
	"github.com/foliomem/folio/cmd/internal/trial/live"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

// A File is a result of run or tune.
type File struct {
	Header
	Complete bool   `json:"complete"`                       // false: interrupted, or a version from half-way
	Error    string `json:"error,omitempty" redact:"prose"` // why it failed, or "interrupted"

	Host    host.Info `json:"host"`
	Program Program   `json:"program"`

	Seed           *uint64 `json:"seed"`
	Rounds         int     `json:"rounds"`
	ElapsedSeconds float64 `json:"elapsed_seconds"`
	Metric         *Target `json:"metric"`
	// RaceRounds is how many rounds came before the final of a search: samples of later
	// ones are the final's. Ended says why it ended, Answer what it found.
	RaceRounds int    `json:"race_rounds,omitempty"`
	Ended      string `json:"ended,omitempty" redact:"prose"`
	// BuildSeconds is what the builds of a search took, which ElapsedSeconds has not; nil
	// where none were searched.
	BuildSeconds *float64 `json:"build_seconds,omitempty"`
	// RateSearch are the rates that --rate auto tried, in order.
	RateSearch []load.RateStep `json:"rate_search,omitempty"`
	Answer     *tune.Answer    `json:"answer,omitempty"`
	// Advice is what a search has to say beside its settings.
	Advice []diagnose.NextStep `json:"advice,omitempty"`

	// Analysis is what a run showed; null for other kinds, and half-way.
	Analysis *diagnose.Analysis `json:"analysis,omitempty"`

	// Live is what was done to a process that ran already, and when; nil for commands.
	Live *live.Record `json:"live,omitempty"`

	Arms            []Arm            `json:"arms"`
	Recommendations []Recommendation `json:"recommendations"`
	Notes           []string         `json:"notes" redact:"prose"`
}

// An Arm is a setting with all that was measured of it.
type Arm struct {
	Name    string          `json:"name" redact:"named"`
	Setting Setting         `json:"setting"`
	Status  string          `json:"status,omitempty" redact:"keep"`
	Reason  string          `json:"reason,omitempty" redact:"prose"`
	Final   *tune.Final     `json:"final,omitempty"`      // of a search: what the final showed
	Left    *tune.Left      `json:"left_early,omitempty"` // of a search: what is known of it
	Samples []*trial.Sample `json:"samples"`
	Summary Summary         `json:"summary"` // of the final's samples, where it was in it
	// Measured is what was optimized in those samples, as it was measured: what a search
	// compares is in Final. nil where nothing counts.
	Measured *Interval `json:"measured,omitempty"`
	// Load is the loads of those samples together; nil where folio put none on them.
	Load *LoadSummary `json:"load,omitempty"`
	// Delays is what delays the slow requests of those loads; nil where nothing is known.
	Delays *delay.Answer `json:"delays,omitempty"`
	// Build is what ran, where builds were searched; nil where they were not.
	Build *ArmBuild `json:"build,omitempty"`
	// Where is where the time of all runs that were sampled went; nil for none.
	Profile *profile.Result `json:"profile,omitempty"`
	// Waterfall is the memory near its peak, of the run with the highest; nil where it could
	// not be read, and of searches.
	Waterfall *NearPeak `json:"waterfall,omitempty"`
	// Tree is the CPU time of those runs by call path: of a search, of the default and what
	// is recommended.
	Tree *profile.Tree `json:"call_tree,omitempty"`
}

// A Setting is trial.Setting with null for what was not set.
type Setting struct {
	GOGC       *string  `json:"gogc" redact:"keep"`
	MemLimit   *uint64  `json:"gomemlimit_bytes"`
	GOMAXPROCS *int     `json:"gomaxprocs"`
	THP        string   `json:"thp" redact:"keep"`
	Env        []string `json:"env" redact:"env"`
	// Build is in what the program was built otherwise than the default; nil for nothing.
	Build *variant.Build `json:"build,omitempty"`
}

// NewSetting returns the JSON form of a setting.
func NewSetting(s trial.Setting) Setting {
	out := Setting{
		GOGC: orNull(s.GOGC), MemLimit: orNull(s.MemLimit), GOMAXPROCS: orNull(s.GOMAXPROCS),
		THP: "system", Env: s.Env, Build: orNull(s.Build),
	}
	if s.THP != trial.THPSystem {
		out.THP = string(s.THP)
	}
	if out.Env == nil {
		out.Env = []string{}
	}
	return out
}

// orNull returns nil for what is not set.
func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// orZero returns the zero value for null.
func orZero[T any](v *T) (out T) {
	if v != nil {
		out = *v
	}
	return out
}

// Trial returns the setting that s is the JSON form of.
func (s Setting) Trial() trial.Setting {
	out := trial.Setting{
		GOGC: orZero(s.GOGC), MemLimit: orZero(s.MemLimit), GOMAXPROCS: orZero(s.GOMAXPROCS),
		Env: s.Env, Build: orZero(s.Build),
	}
	if s.THP != "" && s.THP != "system" {
		out.THP = trial.THP(s.THP)
	}
	return out
}

// Runtime returns the setting without what is of the build.
func (s Setting) Runtime() trial.Setting {
	out := s.Trial()
	out.Build = variant.Build{}
	return out
}

// ReadSetting is [trial.ReadSetting].
func ReadSetting(config func(key string) string) (trial.Setting, error) {
	return trial.ReadSetting(config)
}

// GoKeys are the configuration keys of the variables of Go's runtime.
func GoKeys() []string { return trial.GoVariableKeys() }

// GoValue returns what a setting has for the i-th of [GoKeys]; "" for what was not set.
func (s Setting) GoValue(i int) string { return trial.GoVariables[i].Of(s.Trial()) }

// SetsGo says that the setting sets variables of Go's runtime.
func (s Setting) SetsGo() bool { return trial.Setting{}.With(s.Trial()).Parts() > 0 }

// A Summary holds the median and interval of every figure that was measured, or,
// of those by sampling, what all runs have together.
type Summary struct {
	Figures map[string]Interval
	Pooled  map[string]Pooled // see [figure.Figure]
	Metrics map[string]Interval
	// Collector says in sentences what the GC's trace has beyond the figures;
	// nil where there was none.
	Collector []string `redact:"prose"`
}

// MarshalJSON puts the figures beside "metrics", under the keys of the samples.
// Figures that were not measured are null.
func (s Summary) MarshalJSON() ([]byte, error) {
	m := make(map[string]any, len(trial.Figures)+1)
	for _, f := range trial.Figures {
		m[f.Key] = nil
		if v, ok := s.Figures[f.Key]; ok {
			m[f.Key] = v
		} else if v, ok := s.Pooled[f.Key]; ok {
			m[f.Key] = v
		}
	}
	m["metrics"] = s.Metrics
	if len(s.Collector) > 0 {
		m["collector"] = s.Collector
	}
	return json.Marshal(m)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Summary) UnmarshalJSON(data []byte) error {
	var rest struct {
		Metrics   map[string]Interval `json:"metrics"`
		Collector []string            `json:"collector"`
	}
	if err := json.Unmarshal(data, &rest); err != nil {
		return err
	}
	var figures map[string]json.RawMessage
	if err := json.Unmarshal(data, &figures); err != nil {
		return err
	}
	*s = Summary{Figures: make(map[string]Interval), Pooled: make(map[string]Pooled), Metrics: rest.Metrics, Collector: rest.Collector}
	for _, f := range trial.Figures {
		raw, ok := figures[f.Key]
		if !ok || string(raw) == "null" {
			continue
		}
		var i Interval
		var p Pooled
		into := any(&i)
		if f.Pooled {
			into = &p
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return fmt.Errorf("%s: %w", f.Key, err)
		}
		if f.Pooled {
			s.Pooled[f.Key] = p
		} else {
			s.Figures[f.Key] = i
		}
	}
	return nil
}

// Center is the one figure of all runs; ok is false if it is not known.
func (s *Summary) Center(key string) (v float64, ok bool) {
	of, ok := s.Of(key)
	return of.Median, ok
}

// Of returns what is known of a figure; ok is false if nothing is.
func (s *Summary) Of(key string) (out stat.Summary, ok bool) {
	if p, ok := s.Pooled[key]; ok {
		return stat.Summary{N: p.N, Median: p.Pooled}, true
	}
	i, ok := s.Figures[key]
	return i.Summary(), ok
}

// Growing says that the memory of a server was still growing when each load ended: its peaks
// are what it took so far.
func (a *Arm) Growing() bool { return trial.Growing(a.Samples) }

// PeakMemory is an arm's peak memory, as the search compared it: of all processes
// together where that is known of every run, else of the largest.
func (a *Arm) PeakMemory() Interval {
	one, tree := a.Summary.Figures["peak_rss_bytes"], a.Summary.Figures["peak_tree_rss_bytes"]
	out := tree
	if tree.N < one.N {
		out = one
	}
	if a.Final != nil && a.Final.Memory != nil && *a.Final.Memory != out.Median {
		out = Interval{N: a.Final.N, Median: *a.Final.Memory}
	}
	return out
}

// An Interval is a median and what is known of it.
type Interval struct {
	N          int      `json:"n"`
	Median     float64  `json:"median"`
	Lo         *float64 `json:"lo"` // null with fewer than 6 samples
	Hi         *float64 `json:"hi"`
	Confidence float64  `json:"confidence"`
	// Sampled says that some value is a peak that was seen by looking now and then: it
	// may have been more.
	Sampled bool `json:"sampled,omitempty"`
	// Warnings say why there is no interval.
	Warnings []string `json:"warnings,omitempty" redact:"keep"`
}

// Summary returns the interval as the statistics have it.
func (i Interval) Summary() stat.Summary {
	out := stat.Summary{N: i.N, Median: i.Median}
	if i.Lo != nil && i.Hi != nil {
		out.Lo, out.Hi, out.HasInterval = *i.Lo, *i.Hi, true
	}
	return out
}

// Pooled is a figure of the samples of several runs together. It has no interval:
// runs differ in length, and each is sampled by itself.
type Pooled struct {
	N      int     `json:"n"` // runs that were sampled
	Pooled float64 `json:"pooled"`
}

func newInterval(values []float64) Interval { return intervalOf(stat.Summarize(values)) }

func intervalOf(s stat.Summary) Interval {
	out := Interval{N: s.N, Median: s.Median, Confidence: stat.Confidence}
	if s.HasInterval {
		out.Lo, out.Hi = &s.Lo, &s.Hi
	}
	out.Warnings = texts(s.Warnings)
	return out
}

func texts(errs []error) (out []string) {
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}

// Summarize summarizes the samples that count.
func Summarize(samples []*trial.Sample) Summary {
	out := Summary{Figures: make(map[string]Interval), Pooled: make(map[string]Pooled), Metrics: make(map[string]Interval)}
	for _, f := range trial.Figures {
		v := f.Values(samples)
		if c, ok := f.Center(samples); ok && f.Pooled {
			out.Pooled[f.Key] = Pooled{len(v), c}
		} else if len(v) > 0 && !f.Pooled {
			i := newInterval(v)
			i.Sampled = trial.AnySampled(f.Key, samples)
			out.Figures[f.Key] = i
		}
	}
	metrics := make(map[string][]float64)
	for _, s := range samples {
		if s.OK() {
			for k, v := range s.Metrics {
				metrics[k] = append(metrics[k], v)
			}
		}
	}
	for k, v := range metrics {
		out.Metrics[k] = newInterval(v)
	}
	out.Collector = diagnose.DigestOf(Usable(samples))
	return out
}

// A Recommendation is an answer of tune.
type Recommendation struct {
	Goal      string  `json:"goal" redact:"keep"`
	Arm       string  `json:"arm" redact:"named"`
	Setting   Setting `json:"setting"`
	ShellLine string  `json:"shell_line,omitempty" redact:"blank"` // to paste into a shell; "" where nothing is to be changed
	// Ratio and Memory compare with the default; null for the default.
	Ratio  *tune.Estimate `json:"ratio"`
	Memory *tune.Estimate `json:"memory_ratio"`
	// Tied are the settings that cannot be told apart from it and look at most 2%
	// different; Least says that none of them takes less memory. Undecided are those that look
	// further away, but with too few runs to know; Saves is the one of them that takes least
	// memory, nil where none takes clearly less.
	Tied      []string `json:"tied" redact:"named"`
	Least     bool     `json:"least_memory"`
	Undecided []string `json:"undecided" redact:"named"`
	Saves     *Saving  `json:"saves_memory,omitempty"`
	Permanent []string `json:"permanent,omitempty" redact:"prose"`
}

// Recommended returns what a search recommends first, and the arm that was measured for it.
func (f *File) Recommended() (*Recommendation, *Arm, error) {
	if f.Answer == nil || f.Answer.State == AnswerTooLittle || f.Answer.State == AnswerNoEffect || len(f.Recommendations) == 0 {
		why := "too little was measured"
		switch {
		case f.Answer != nil && f.Answer.Inert != "":
			why = f.Answer.Inert
		case f.Error != "":
			why = f.Error
		}
		return nil, nil, errors.New("it recommends nothing: " + why)
	}
	rec := &f.Recommendations[0]
	for i := range f.Arms {
		if f.Arms[i].Name == rec.Arm {
			return rec, &f.Arms[i], nil
		}
	}
	return nil, nil, fmt.Errorf("it recommends %q, and has no such setting", rec.Arm)
}

// A Saving is a setting that takes less memory than a recommended one, and may or may not
// be as good. Both ratios are to the recommended one.
type Saving struct {
	Arm    string         `json:"arm" redact:"named"`
	Ratio  *tune.Estimate `json:"ratio"`
	Memory *tune.Estimate `json:"memory_ratio"`
}

// JSON returns the file's text.
func (f *File) JSON() ([]byte, error) {
	if f.Arms == nil {
		f.Arms = []Arm{}
	}
	if f.Recommendations == nil {
		f.Recommendations = []Recommendation{}
	}
	if f.Notes == nil {
		f.Notes = []string{}
	}
	for i := range f.Recommendations {
		if f.Recommendations[i].Tied == nil {
			f.Recommendations[i].Tied = []string{}
		}
		if f.Recommendations[i].Undecided == nil {
			f.Recommendations[i].Undecided = []string{}
		}
	}
	for i := range f.Arms {
		if f.Arms[i].Samples == nil {
			f.Arms[i].Samples = []*trial.Sample{}
		}
	}
	return indented(f)
}

// Finite returns nil for what JSON cannot hold.
func Finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Usable returns the samples that count, or, when none does, all as if they
// did: a failed run's figures still say how far it came.
func Usable(samples []*trial.Sample) []*trial.Sample {
	var good, all []*trial.Sample
	for _, s := range samples {
		if s.OK() {
			good = append(good, s)
		}
		c := *s
		c.Failure = ""
		all = append(all, &c)
	}
	if len(good) > 0 {
		return good
	}
	return all
}
