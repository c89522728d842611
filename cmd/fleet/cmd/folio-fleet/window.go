package main

import (
	"fmt"
	"time"

	"github.com/prometheus/common/model"

	"github.com/foliomem/folio/cmd/fleet/internal/prom"
)

// Bounds of a window: a rule needs some evaluations, and no server keeps more.
const (
	minWindow = 10 * time.Minute
	maxWindow = 92 * 24 * time.Hour
)

// A window is a flag with a duration as Prometheus has it.
type window struct{ d *time.Duration }

func (w *window) Set(s string) error {
	d, err := model.ParseDuration(s)
	if err != nil || time.Duration(d) < minWindow || time.Duration(d) > maxWindow {
		return fmt.Errorf("want %s to %s, as in 24h or 7d", prom.Duration(minWindow), prom.Duration(maxWindow))
	}
	*w.d = time.Duration(d)
	return nil
}

func (w *window) String() string {
	if w.d == nil {
		return ""
	}
	return prom.Duration(*w.d)
}

// Type is not duration: Set says itself which values it takes.
func (w *window) Type() string { return "window" }
