package rounds

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/gosetting"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
)

// A Plan is what is to be run. It goes to the pod as JSON, in the environment.
type Plan struct {
	// Settings are compared with the first, which changes nothing.
	Settings []trial.Setting `json:"settings"`
	Rounds   int             `json:"rounds"`
	Metric   string          `json:"metric"` // as [metric.Parse] takes it
	Higher   bool            `json:"higher_is_better"`
	Timeout  time.Duration   `json:"run_timeout_ns"` // of a run
	Budget   time.Duration   `json:"budget_ns"`      // no round begins later
	Seed     uint64          `json:"seed"`
	// Stay has a pod that has run its rounds go on until it is ended, so that its node is
	// not free for another pod of the trial: anti-affinity does not see pods that have ended.
	Stay bool `json:"stay,omitempty"`
}

// Variables of the driver. The program does not get them.
const (
	PlanEnv = "FOLIO_ROUNDS_PLAN"
	NodeEnv = "FOLIO_ROUNDS_NODE"
	DirEnv  = "FOLIO_ROUNDS_DIR" // where the file of lines is kept
)

// Bounds of a plan.
const (
	MostSettings = 32
	MostRounds   = 1000
)

// ParsePlan reads a plan and checks it.
func ParsePlan(text string) (*Plan, error) {
	p := &Plan{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		return nil, fmt.Errorf("%s: %w", PlanEnv, err)
	}
	return p, p.Check()
}

// Check says what is wrong with a plan, by the flags of folio-fleet tune.
func (p *Plan) Check() error {
	switch {
	case len(p.Settings) < 2 || len(p.Settings) > MostSettings:
		return fmt.Errorf("--setting: %d given, want 1 to %d besides the default", len(p.Settings)-1, MostSettings-1)
	case !p.Settings[0].IsZero():
		return fmt.Errorf("the first setting is %s: want the default", p.Settings[0])
	case p.Rounds < 1 || p.Rounds > MostRounds:
		return fmt.Errorf("--rounds %d: want 1 to %d", p.Rounds, MostRounds)
	case p.Timeout <= 0:
		return fmt.Errorf("--run-timeout %v: want more than 0", p.Timeout)
	case p.Budget <= 0:
		return fmt.Errorf("--budget %v: want more than 0", p.Budget)
	}
	seen := make(map[string]bool)
	for _, s := range p.Settings {
		if seen[s.String()] {
			return fmt.Errorf("--setting '%s' is given twice", s)
		}
		seen[s.String()] = true
	}
	const want = "want wall, cpu, ns/op or NAME=REGEXP, such as 'op/s=([0-9.,]+) op/s'"
	switch own := []string{metric.Wall, metric.CPU, metric.Bench}; {
	case metric.IsOfLoad(p.Metric):
		return fmt.Errorf("--metric %s is of a server under load: %s", p.Metric, want)
	case !slices.Contains(own, p.Metric) && !strings.Contains(p.Metric, "="):
		return fmt.Errorf("--metric '%s': %s", p.Metric, want)
	}
	_, err := p.Spec()
	return err
}

// Spec is the metric.
func (p *Plan) Spec() (*metric.Spec, error) { return metric.Parse(p.Metric, p.Higher) }

// ParseSetting reads what [trial.Setting.String] writes: thp and variables.
func ParseSetting(text string) (s trial.Setting, err error) {
	wrong := func(err error) (trial.Setting, error) {
		return s, fmt.Errorf("--setting %q: %w", text, err)
	}
	seen := make(map[string]bool)
	for _, word := range strings.Fields(text) {
		key, value, ok := strings.Cut(word, "=")
		switch {
		case !ok || key == "" || value == "":
			return wrong(fmt.Errorf("%q: want NAME=VALUE, such as 'GOGC=400 GOMEMLIMIT=512MiB thp=heap'", word))
		case seen[key]:
			return wrong(fmt.Errorf("%s is given twice", key))
		}
		seen[key] = true
		switch v := trial.GoVariableNamed(key); {
		case v != nil:
			err = v.Set(&s, value)
		case key == "thp":
			s.THP, err = trial.ParseTHP(value)
			switch {
			case err != nil:
				err = fmt.Errorf("thp %q: want heap or off", value)
			case s.THP == trial.THPCollapse:
				err = fmt.Errorf("thp=collapse needs rights that pods do not have: want thp=heap or thp=off")
			}
		default:
			s.Env = append(s.Env, word)
			if p, ok := errors.AsType[*gosetting.Problem](gosetting.Check(word, "")); ok && !p.Unknown {
				err = p
			}
		}
		if err != nil {
			return wrong(err)
		}
	}
	switch {
	case s.IsZero():
		return wrong(fmt.Errorf("it changes nothing; the default always runs"))
	case s.GOGC == trial.Off && s.MemLimit == 0:
		return wrong(fmt.Errorf("GOGC=off without GOMEMLIMIT lets the heap grow until the container is killed: add GOMEMLIMIT"))
	}
	return s, nil
}
