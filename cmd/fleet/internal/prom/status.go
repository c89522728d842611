package prom

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/rules"
)

// A Status is what a server has of the recorded series.
type Status struct {
	Now      time.Time     // by the server's clock
	Interval time.Duration // of the rules
	Window   time.Duration // asked for
	Count    float64       // evaluations in the window
	Notes    []string      // what makes answers partial
}

// maxSkew is the difference of clocks that is said: an answer is of the server's time.
const maxSkew = time.Minute

// Recorded is the part of the window in which the rules were evaluated.
func (s Status) Recorded() time.Duration { return time.Duration(s.Count) * s.Interval }

// Status asks whether the rules are loaded, for how much of the window they ran, and what
// time it is there. Everything else is asked of that time.
func (c *Client) Status(ctx context.Context, window time.Duration) (Status, error) {
	s := Status{Window: window}
	now, err := c.Instant(ctx, "count_over_time("+c.Select(rules.Info)+"["+Duration(window)+"])", time.Time{})
	if err != nil {
		return s, err
	}
	for _, one := range now {
		if one.Labels["version"] != rules.Version {
			continue
		}
		seconds, err := strconv.Atoi(one.Labels["interval"])
		if err != nil || seconds <= 0 || time.Duration(seconds)*time.Second > rules.MaxInterval {
			continue
		}
		// Rules that were loaded with another interval before are another series: the one
		// that ran for longer counts. With a pair of servers both are the same.
		if covers := one.Value * float64(seconds); covers > s.Count*s.Interval.Seconds() {
			s.Now, s.Interval, s.Count = one.Time, time.Duration(seconds)*time.Second, one.Value
		}
	}
	if s.Count == 0 {
		if len(now) > 0 {
			return s, fmt.Errorf("%s has the recorded series of another version of folio-fleet; load the rules of this one: folio-fleet rules", c.url)
		}
		return s, fmt.Errorf("%s has no series %s in the last %s: its rules are not loaded, or --matcher does not match; load them: folio-fleet rules > folio.rules.yaml", c.url, rules.Info, Duration(window))
	}
	// The first and the last evaluation need not be in the window.
	if got := s.Recorded(); got < window-2*s.Interval && got < window*95/100 {
		if got > 2*time.Hour {
			got = got.Round(time.Hour)
		}
		s.Notes = append(s.Notes, fmt.Sprintf("the rules were evaluated for %s of the last %s", Duration(got.Round(time.Minute)), Duration(window)))
	}
	if skew := time.Since(s.Now).Round(time.Second); skew > maxSkew || skew < -maxSkew {
		behind := "behind"
		if skew < 0 {
			behind = "ahead of"
		}
		s.Notes = append(s.Notes, fmt.Sprintf("the clock of the server is %v %s this machine's; times are the server's", skew.Abs(), behind))
	}
	return s, nil
}

// Duration returns a duration as PromQL has it: 7d, 36h, 90s.
func Duration(d time.Duration) string {
	for _, u := range []struct {
		of     time.Duration
		suffix string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d%u.of == 0 && d >= u.of {
			return strconv.FormatInt(int64(d/u.of), 10) + u.suffix
		}
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}
