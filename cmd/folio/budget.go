package main

import (
	"math/rand/v2"
	"time"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/internal/base/unit"
)

// The defaults of --budget. A run under a load by --rate takes its duration, warm-up and the
// start of the server: some 13 s, of which ab makes 20 and tune about a hundred at least.
const (
	tuneBudget, loadedTuneBudget = 5 * time.Minute, 30 * time.Minute
	abBudget, loadedABBudget     = 5 * time.Minute, 15 * time.Minute
)

// seedFlag adds the seed of what is in random order.
func seedFlag(fs *pflag.FlagSet, seed *uint64) {
	fs.Uint64Var(seed, "seed", rand.Uint64()>>32, "seed `n` of the random order (default random, and recorded)") // short enough to type
	fs.Lookup("seed").DefValue = "0"
}

// budgets says what the default is.
func budgets(plain, loaded time.Duration) string {
	return unit.Span(plain) + "; with --rate " + unit.Span(loaded)
}

// budgetOr is the budget that was given, or the default.
func (f *programFlags) budgetOr(given, plain, loaded time.Duration) time.Duration {
	switch {
	case f.given.Changed("budget"):
		return given
	case f.given.Changed("rate"):
		return loaded
	}
	return plain
}
