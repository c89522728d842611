// Package config reads the environment variable FOLIO: settings of Folio's
// packages as key=value, separated by commas.
package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
)

// Setting is one item of the variable.
type Setting struct {
	Key string
	// Value is what follows the first =. Given is false if there is none.
	Value string
	Given bool
}

// Parse splits the variable into its settings, in their order. Empty items and
// space around items, keys and values mean nothing; keys are in lower case.
func Parse(env string) (out []Setting) {
	for item := range strings.SplitSeq(env, ",") {
		key, value, given := strings.Cut(item, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if key == "" && strings.TrimSpace(value) == "" {
			continue
		}
		out = append(out, Setting{Key: key, Value: strings.TrimSpace(value), Given: given})
	}
	return out
}

func (s Setting) String() string {
	if !s.Given {
		return s.Key
	}
	return s.Key + "=" + s.Value
}

// Wrong is an error that says what a setting should be.
func (s Setting) Wrong(want string) error { return fmt.Errorf("FOLIO: %s: want %s", s, want) }

// Bool returns the value of a switch: on or off. A key alone is on.
func (s Setting) Bool() (bool, error) {
	if !s.Given {
		return true, nil
	}
	switch strings.ToLower(s.Value) {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, s.Wrong("on or off")
}

// Share returns a number from least to 1.
func (s Setting) Share(least float64) (float64, error) {
	v, err := strconv.ParseFloat(s.Value, 64)
	if err != nil || !(v >= least && v <= 1) {
		return 0, s.Wrong(fmt.Sprintf("a number from %v to 1", least))
	}
	return v, nil
}

// Size returns a number of bytes, as unit.ParseSize reads it: 4GiB, 512MiB, 1048576. 0
// is a size here.
func (s Setting) Size() (int64, error) {
	if s.Value == "0" {
		return 0, nil
	}
	n, err := unit.ParseSize(s.Value)
	if err != nil {
		return 0, s.Wrong("a size such as 4GiB or 512MiB")
	}
	return int64(n), nil
}
