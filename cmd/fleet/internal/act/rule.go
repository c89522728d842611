package act

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/livegc"
)

// A Rule gives settings of the GC to the Go processes of pods that opted in.
type Rule struct {
	Label, Value string
	Container    string // "" for all
	GOGC         string // "" keeps it; else a percentage, off or [Recommended]
	MemoryLimit  string // "" keeps it; else a size, [Fit] or [Recommended]
}

// Values of a Rule.
const (
	Fit         = "fit" // what the container's limit leaves
	Recommended = "recommended"
)

// mostRules bounds the rules of a policy.
const mostRules = 64

// ruleFile is a Rule as it is written.
type ruleFile struct {
	Label       string `json:"label"`
	Container   string `json:"container"`
	GOGC        scalar `json:"gogc"`
	MemoryLimit scalar `json:"memoryLimit"`
}

// A scalar is a text or a number. YAML reads off as false.
type scalar string

func (s *scalar) UnmarshalJSON(data []byte) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		*s = ""
	case string:
		*s = scalar(v)
	case float64:
		*s = scalar(data)
	case bool:
		if v {
			return errors.New("settings: on: want a value")
		}
		*s = "off"
	default:
		return errors.New("settings: a list or a mapping: want a value")
	}
	return nil
}

func (f ruleFile) rule() (Rule, error) {
	r := Rule{Container: f.Container, GOGC: string(f.GOGC), MemoryLimit: string(f.MemoryLimit)}
	var err error
	if r.Label, r.Value, err = parseLabel(f.Label); err != nil {
		return r, err
	}
	return r, r.check()
}

// check returns what is wrong with the values of a rule.
func (r Rule) check() error {
	if r.GOGC == "" && r.MemoryLimit == "" {
		return errors.New("want gogc, memoryLimit or both")
	}
	if r.GOGC != "" && r.GOGC != Recommended {
		if _, err := livegc.ParseGOGC(r.GOGC); err != nil {
			return fmt.Errorf("gogc: %w, or %s", err, Recommended)
		}
	}
	switch r.MemoryLimit {
	case "":
		if r.GOGC == "off" {
			return errors.New("gogc: off without memoryLimit lets the heap grow until memory runs out")
		}
	case Fit, Recommended:
	case "off":
		return fmt.Errorf("memoryLimit: off: want a size such as 512MiB, %s or %s", Fit, Recommended)
	default:
		if _, err := livegc.ParseGOMEMLIMIT(r.MemoryLimit); err != nil {
			return fmt.Errorf("memoryLimit: %q: want a size such as 512MiB, %s or %s", r.MemoryLimit, Fit, Recommended)
		}
	}
	return nil
}

// parseLabel reads a label with its value.
func parseLabel(text string) (key, value string, err error) {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" || value == "" {
		return "", "", fmt.Errorf("label: %q: want KEY=VALUE", text)
	}
	return key, value, nil
}

func parseRules(files []ruleFile) (rules []Rule, err error) {
	if len(files) > mostRules {
		return nil, fmt.Errorf("settings: %d rules: want %d at most", len(files), mostRules)
	}
	for i, f := range files {
		r, err := f.rule()
		if err != nil {
			return nil, fmt.Errorf("settings, rule %d: %w", i+1, err)
		}
		for j, before := range rules {
			if before.Label == r.Label && before.Value == r.Value && (before.Container == "" || before.Container == r.Container) {
				return nil, fmt.Errorf("settings, rule %d: rule %d has all its pods", i+1, j+1)
			}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// recommends reports whether a rule needs recommendations.
func (r Rule) recommends() bool { return r.GOGC == Recommended || r.MemoryLimit == Recommended }

// Recommends reports whether the policy needs recommendations.
func (p Policy) Recommends() bool {
	for _, r := range p.Rules {
		if r.recommends() {
			return true
		}
	}
	return false
}
