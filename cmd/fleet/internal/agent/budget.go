package agent

import "time"

// A budget keeps the agent's own CPU time within a share of one core, by an account that
// gains with time and loses what was used. What is optional waits while it is empty.
type budget struct {
	share  float64
	credit float64 // seconds of CPU time
	used   float64 // at the last tick
	at     time.Time
}

// Bounds of the account, in seconds of CPU time: what start costs, and a profile that
// somebody asked for, is not saved up for or held against the agent for ever.
const (
	startCredit = 1
	mostCredit  = 1
	mostDebt    = 2
)

func newBudget(share, used float64, now time.Time) *budget {
	return &budget{share: share, credit: startCredit, used: used, at: now}
}

// tick takes what was used in all.
func (b *budget) tick(used float64, now time.Time) {
	b.credit += b.share*now.Sub(b.at).Seconds() - (used - b.used)
	b.credit = min(max(b.credit, -mostDebt), mostCredit)
	b.used, b.at = used, now
}

func (b *budget) ok() bool { return b.credit > 0 }
