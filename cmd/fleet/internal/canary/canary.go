// Package canary compares a setting of the GC with what a workload has, on its pods as they
// serve. Some of them form two groups. Block by block, one group has the setting and the other has
// not, and the two swap (a crossover): neither a load that changes with the hour nor pods that
// differ favor either. folio-agent act gives the setting to pods with a lease, an annotation that
// says until when: it goes even if nobody is left to take it back. The figures are those that
// Prometheus has.
//
// Source of the design: B. Jones, M. G. Kenward, Design and Analysis of Cross-Over Trials, 3rd
// edition, 2014, chapter 2.
package canary

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/foliomem/folio/cmd/fleet/internal/act"
	"github.com/foliomem/folio/cmd/fleet/internal/prom"
	"github.com/foliomem/folio/cmd/fleet/internal/workload"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/internal/base/unit"
)

// Options say what is compared, on which pods, and within which bounds.
type Options struct {
	Name        workload.Name
	GOGC        string  // "" keeps it
	MemoryLimit string  // "" keeps it
	Share       float64 // of the pods that take part; half of them have the setting at a time
	Rounds      int     // of two blocks
	Block       time.Duration
	Settle      time.Duration // of a block: it does not count
	Every       time.Duration // between looks at the guardrails
	Seed        uint64

	// Queries for figures of the program by pod, "" for none: requests and errors are counters,
	// P99 is in seconds.
	Requests, Errors, P99 string

	MaxRSS    uint64          // of a pod; 0 for none
	MaxP99    time.Duration   // 0 for none
	MaxErrors *tune.MaxErrors // nil for none
}

// Fewest rounds are those of a comparison that can decide anything.
const Fewest = 6

// grace is for how long a lease outlasts its block: until then a pod keeps the setting if this
// process is killed.
const grace = 2 * time.Minute

// Check returns what is wrong with the options.
func (o *Options) Check() error {
	switch {
	case o.GOGC == "" && o.MemoryLimit == "":
		return errors.New("nothing to compare: give --gogc, --memlimit or both")
	case o.GOGC == "off" && o.MemoryLimit == "":
		return errors.New("--gogc off needs --memlimit: without one the heap grows until memory runs out")
	case !(o.Share > 0 && o.Share <= 1):
		return fmt.Errorf("--pods %v: want a share such as 20%%", o.Share)
	case o.Rounds < 1 || o.Rounds > 1000:
		return fmt.Errorf("--rounds %d: want 1 to 1000; fewer than %d decide nothing", o.Rounds, Fewest)
	case o.Block <= 0 || o.Block > 12*time.Hour:
		return fmt.Errorf("--block %v: want a duration up to 12h", o.Block)
	case o.Errors != "" && o.Requests == "":
		return errors.New("--errors needs --requests: errors are a part of all")
	case o.MaxErrors != nil && o.Errors == "":
		return errors.New("--max-errors needs --errors, a query that counts them")
	case o.MaxP99 != 0 && o.P99 == "":
		return errors.New("--max-p99 needs --p99, a query for it")
	}
	if err := o.lease(time.Now()).Check(); err != nil {
		return fmt.Errorf("--gogc or --memlimit: %w", err)
	}
	return nil
}

func (o *Options) lease(until time.Time) act.Lease {
	return act.Lease{Container: o.Name.Container, GOGC: o.GOGC, MemoryLimit: o.MemoryLimit, Until: until}
}

// Takes is about how long a comparison takes.
func (o *Options) Takes() time.Duration { return time.Duration(2*o.Rounds) * (o.Settle + o.Block) }

// A Source has the figures: a [prom.Client].
type Source interface {
	Instant(ctx context.Context, query string, at time.Time) ([]prom.Sample, error)
	Range(ctx context.Context, query string, from, to time.Time, step time.Duration) ([]prom.Series, error)
	Select(name string, more ...prom.Match) string
}

// A Canary is one comparison.
type Canary struct {
	Options
	Pods     kubernetes.Interface
	Source   Source
	Progress func(string)

	kind    string // of the workload
	groups  [2][]member
	skew    time.Duration // of the server's clock
	missing time.Time     // since when the server or the API does not answer
	blocks  []Block
	slow    int // looks at which p99 was too long, one after the other
}

// A stopError ends a comparison before its end, on a doubt.
type stopError struct{ why string }

func (e *stopError) Error() string { return "stopped: " + e.why }

func stop(format string, args ...any) error { return &stopError{fmt.Sprintf(format, args...)} }

// Prepare chooses the pods. Nothing is changed by it.
func (c *Canary) Prepare(ctx context.Context) error {
	all, err := c.find(ctx)
	if err != nil {
		return err
	}
	n := int(c.Share*float64(len(all))) / 2 * 2
	if n < 2 {
		return fmt.Errorf("%s has %s that are ready: %s of them are fewer than two, one for each group; give a larger share with --pods",
			c.Name.Workload, unit.Plural(len(all), "pod"), unit.Percent(c.Share))
	}
	random := rand.New(rand.NewPCG(c.Seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	c.groups = [2][]member{all[:n/2], all[n/2 : n]}
	return nil
}

// Groups are the names of the pods that take part.
func (c *Canary) Groups() (names [2][]string) {
	for i, g := range c.groups {
		for _, m := range g {
			names[i] = append(names[i], m.name)
		}
	}
	return names
}

// Run swaps the setting between the groups until all rounds are measured, and takes it from both.
// A doubt ends it early: it is in the result, as what was measured until then.
func (c *Canary) Run(ctx context.Context) (r *Result, err error) {
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	err = c.rounds(ctx)
	err = errors.Join(err, c.take(context.WithoutCancel(ctx), c.groups[0]), c.take(context.WithoutCancel(ctx), c.groups[1]))
	r = c.conclude()
	if s := (*stopError)(nil); errors.As(err, &s) {
		r.State, r.Reason = Stopped, s.why
	}
	return r, err
}

// begin asks the server for its clock, and whether it has the pods.
func (c *Canary) begin(ctx context.Context) error {
	now, err := c.Source.Instant(ctx, "vector(1)", time.Time{})
	if err != nil {
		return err
	}
	if len(now) == 1 {
		c.skew = time.Until(now[0].Time)
	}
	return c.known(ctx)
}

func (c *Canary) rounds(ctx context.Context) error {
	random := rand.New(rand.NewPCG(c.Seed, 1))
	for round := range c.Rounds {
		first := random.IntN(2)
		for _, with := range [2]int{first, 1 - first} {
			if err := c.block(ctx, round, with); err != nil {
				return err
			}
		}
		c.say("round %d of %d: %s", round+1, c.Rounds, c.conclude().Cost)
	}
	return nil
}

// block gives the setting to one group, and measures both.
func (c *Canary) block(ctx context.Context, round, with int) error {
	if err := c.persist(ctx, func() error { return c.take(ctx, c.groups[1-with]) }); err != nil { // first: no more than half have it
		return err
	}
	begin := time.Now()
	if err := c.persist(ctx, func() error { return c.give(ctx, c.groups[with], begin.Add(c.Settle+c.Block+grace)) }); err != nil {
		return err
	}
	b := Block{Round: round, With: with, Begin: begin, Counted: begin.Add(c.Settle), End: begin.Add(c.Settle + c.Block)}
	ticker := time.NewTicker(c.Every)
	defer ticker.Stop()
	for time.Now().Before(b.End) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if err := c.answered(c.look(ctx, with, time.Since(begin) > c.Settle, b.Counted)); err != nil {
			return err
		}
	}
	err := c.persist(ctx, func() (err error) {
		b.Pods, err = c.measure(ctx, b.Counted, b.End)
		return err
	})
	if err != nil {
		return err
	}
	c.blocks = append(c.blocks, b)
	return nil
}

// patience is how long the server or the API may be away.
var patience = time.Minute

// answered passes errors that end a comparison on. One of the server or the API does if it lasts.
func (c *Canary) answered(err error) error {
	switch {
	case err == nil:
		c.missing = time.Time{}
		return nil
	case lasting(err):
		return err
	case c.missing.IsZero():
		c.missing = time.Now()
	}
	if time.Since(c.missing) < patience {
		return nil
	}
	return stop("for %v nothing is known of the pods: %v", patience, err)
}

// persist does something until it succeeds, or its error will not go away.
func (c *Canary) persist(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || c.answered(err) != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(c.Every):
		}
	}
}

// lasting reports whether an error does not go away by itself.
func lasting(err error) bool {
	s := (*stopError)(nil)
	return errors.As(err, &s) || errors.Is(err, context.Canceled) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}

func (c *Canary) say(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}
