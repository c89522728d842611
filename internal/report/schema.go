package report

import (
	"encoding/json"
	"math"
	"time"

	"github.com/foliomem/folio/internal/diagnose"
	"github.com/foliomem/folio/internal/host"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
)

// Schema is the version of the JSON results. A new version is a new name; keys
// may be added to this one. docs/results.md describes it.
const Schema = "folio/1"

// Kinds of a File. What was watched of a running process is no run: its time is what
// --for says, and its other figures are of that time.
const (
	KindRun    = "run"
	KindTune   = "tune"
	KindAttach = "attach"
)

// A File is a result as JSON has it.
type File struct {
	Schema   string    `json:"schema"`
	Kind     string    `json:"kind"` // KindRun, KindTune, KindAttach
	Folio    string    `json:"folio_version"`
	Created  time.Time `json:"created"`
	Complete bool      `json:"complete"`        // false: interrupted, or a version from half-way
	Error    string    `json:"error,omitempty"` // why it failed, or "interrupted"

	Host    host.Info `json:"host"`
	Program Program   `json:"program"`

	Seed           *uint64 `json:"seed"`
	Rounds         int     `json:"rounds"`
	ElapsedSeconds float64 `json:"elapsed_seconds"`
	Metric         *Target `json:"metric"`

	Arms            []Arm            `json:"arms"`
	Recommendations []Recommendation `json:"recommendations"`
	Notes           []string         `json:"notes"`
}

// A Program is what was measured.
type Program struct {
	Command   []string `json:"command"`
	GoVersion *string  `json:"go_version"` // from its build information; null for others
	Module    *string  `json:"module"`
	// Version is the main module's, or the commit; BuildID the linker's. Both tell one
	// build of a program from another.
	Version string `json:"version,omitempty"`
	BuildID string `json:"build_id,omitempty"`
	Input   string `json:"input,omitempty"` // the file that was its standard input
	Ready   string `json:"ready,omitempty"`
	Load    string `json:"load,omitempty"`
	// IgnoreExit says that runs count whatever the exit code.
	IgnoreExit bool   `json:"ignore_exit,omitempty"`
	Build      *Build `json:"build,omitempty"` // of a program that folio built itself
}

// A Build says what folio built a program from. The first word of Command is then the
// name that go build gives it.
type Build struct {
	Package string   `json:"package"` // or .go files
	Patches []string `json:"patches"` // of the standard library, as name@hash
}

// Line returns a shell line that runs the program under a setting.
func (p Program) Line(s trial.Setting) string {
	if p.Build != nil && len(p.Command) > 0 {
		return s.BuildLine(p.Build.Package, p.Command[1:])
	}
	return s.Line(p.Command)
}

// An Arm is a setting with all that was measured of it.
type Arm struct {
	Name    string          `json:"name"`
	Setting Setting         `json:"setting"`
	Status  string          `json:"status,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Samples []*trial.Sample `json:"samples"`
	Summary Summary         `json:"summary"`
}

// A Setting is trial.Setting with null for what was not set.
type Setting struct {
	GOGC       *string  `json:"gogc"`
	MemLimit   *uint64  `json:"gomemlimit_bytes"`
	GOMAXPROCS *int     `json:"gomaxprocs"`
	THP        string   `json:"thp"`
	Env        []string `json:"env"`
}

// NewSetting returns the JSON form of a setting.
func NewSetting(s trial.Setting) Setting {
	out := Setting{THP: "system", Env: s.Env}
	if s.THP != trial.THPSystem {
		out.THP = string(s.THP)
	}
	if s.GOGC != "" {
		out.GOGC = &s.GOGC
	}
	if s.MemLimit != 0 {
		out.MemLimit = &s.MemLimit
	}
	if s.GOMAXPROCS != 0 {
		out.GOMAXPROCS = &s.GOMAXPROCS
	}
	if out.Env == nil {
		out.Env = []string{}
	}
	return out
}

// Trial returns the setting that s is the JSON form of.
func (s Setting) Trial() trial.Setting {
	out := trial.Setting{Env: s.Env}
	if s.GOGC != nil {
		out.GOGC = *s.GOGC
	}
	if s.MemLimit != nil {
		out.MemLimit = *s.MemLimit
	}
	if s.GOMAXPROCS != nil {
		out.GOMAXPROCS = *s.GOMAXPROCS
	}
	if s.THP != "" && s.THP != "system" {
		out.THP = trial.THP(s.THP)
	}
	return out
}

// A Summary holds the median and interval of every figure that was measured.
type Summary struct {
	Figures map[string]Interval
	Metrics map[string]Interval
	// Collector says in sentences what the collector's trace has beyond the figures;
	// nil where there was none.
	Collector []string
}

// MarshalJSON puts the figures beside "metrics", under the keys of the samples.
// Figures that were not measured are null.
func (s Summary) MarshalJSON() ([]byte, error) {
	m := make(map[string]any, len(trial.Figures)+1)
	for _, f := range trial.Figures {
		m[f.Key] = nil
		if v, ok := s.Figures[f.Key]; ok {
			m[f.Key] = v
		}
	}
	m["metrics"] = s.Metrics
	if len(s.Collector) > 0 {
		m["collector"] = s.Collector
	}
	return json.Marshal(m)
}

// An Interval is a median and what is known of it.
type Interval struct {
	N          int      `json:"n"`
	Median     float64  `json:"median"`
	Lo         *float64 `json:"lo"` // null with fewer than 6 samples
	Hi         *float64 `json:"hi"`
	Confidence float64  `json:"confidence"`
}

func newInterval(values []float64) Interval {
	s := stat.Summarize(values)
	out := Interval{N: s.N, Median: s.Median, Confidence: stat.Confidence}
	if s.HasInterval {
		out.Lo, out.Hi = &s.Lo, &s.Hi
	}
	return out
}

// Summarize summarises the samples that count.
func Summarize(samples []*trial.Sample) Summary {
	out := Summary{Figures: make(map[string]Interval), Metrics: make(map[string]Interval)}
	for _, f := range trial.Figures {
		if v := f.Values(samples); len(v) > 0 {
			out.Figures[f.Key] = newInterval(v)
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
	out.Collector = diagnose.NewSheet(host.Info{}, trial.Setting{}, nil, Usable(samples)).Digest
	return out
}

// A Recommendation is an answer of tune.
type Recommendation struct {
	Goal    string  `json:"goal"`
	Arm     string  `json:"arm"`
	Setting Setting `json:"setting"`
	Line    string  `json:"line"` // to paste into a shell
	// MetricRatio compares with the default; P is of the Mann-Whitney test.
	MetricRatio *float64 `json:"metric_ratio"`
	P           float64  `json:"p"`
	Different   bool     `json:"different"`
	MemoryRatio *float64 `json:"memory_ratio"`
	Why         string   `json:"why,omitempty"`
	Keep        []string `json:"keep,omitempty"`
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
	for i := range f.Arms {
		if f.Arms[i].Samples == nil {
			f.Arms[i].Samples = []*trial.Sample{}
		}
	}
	data, err := json.MarshalIndent(f, "", "  ")
	return append(data, '\n'), err
}

// finite returns nil for what JSON cannot hold.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
