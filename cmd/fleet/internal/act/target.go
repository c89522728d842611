package act

import (
	"fmt"
	"math"

	"github.com/foliomem/folio/cmd/fleet/internal/recommend"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/base/unit"
)

// Why a process does not get the settings of its rule, or lost them.
const (
	ByProgram   = "program"        // it sets its GC itself
	ByOther     = "other"          // another process set its GC, or is about to
	NoLimit     = "no_limit"       // its container has no memory limit, which the rule needs
	NoRoom      = "room"           // it would not fit into its container, or the node
	NoAdvice    = "recommendation" // there is none, it is too old, or not sure
	Forbidden   = "denied"         // by the kernel
	Unsupported = "unsupported"    // its version of Go
)

// Refusals are all of them; [Failed] is what else may happen.
var Refusals = []string{ByProgram, ByOther, NoLimit, NoRoom, NoAdvice, Forbidden, Unsupported, Failed}

// A refusal says why a process does not get its settings.
type refusal struct {
	reason, text string
	final        bool // it is not tried again
}

func refuse(reason, format string, args ...any) *refusal {
	return &refusal{reason: reason, text: fmt.Sprintf(format, args...)}
}

// Terms are what the settings of a process come from.
type terms struct {
	rule        Rule
	advised     recommend.Setting    // where the rule asks for it
	before, now goruntime.GCSettings // without the rule, and in effect
	own         memlimit.Runtime
	fit         *memlimit.Fit // nil: its container has no limit
	// kept is the container's limit that the settings in effect were made for; 0 for none.
	kept uint64
	// spare is what may be used of the node's memory.
	spare    uint64
	headroom float64 // share of the container's limit that stays free
}

// change returns what the rule changes, within the limits of the container and of the node.
func (t *terms) change() (c livegc.Change, no *refusal) {
	if c.Percent, no = t.percent(); no != nil {
		return c, no
	}
	if c.Limit, no = t.limit(); no != nil {
		return c, no
	}
	return c, t.room(c)
}

func (t *terms) percent() (*int32, *refusal) {
	text := t.rule.GOGC
	if text == Recommended {
		text = t.advised.GOGC
	}
	if text == "" {
		return nil, nil
	}
	n, err := livegc.ParseGOGC(text)
	if err != nil {
		return nil, refuse(NoAdvice, "the recommended GOGC is %v", err)
	}
	return n, nil
}

// rise is by how much more a limit must fit before one that is in effect is raised, where the
// container's stays: what is charged to it wavers.
const rise = 1.1

func (t *terms) limit() (*int64, *refusal) {
	most := uint64(math.MaxInt64 - 1)
	switch t.rule.MemoryLimit {
	case "":
		return nil, nil
	case Fit:
		if t.fit == nil {
			return nil, refuse(NoLimit, "memoryLimit is fit, and its container has no memory limit")
		}
	case Recommended:
		if t.advised.GOMEMLIMIT == nil {
			return nil, nil
		}
		if v := *t.advised.GOMEMLIMIT; v > 0 && v < math.MaxInt64 {
			most = uint64(v)
			break
		}
		return nil, refuse(NoAdvice, "the recommended GOMEMLIMIT is not a size")
	default:
		n, err := livegc.ParseGOMEMLIMIT(t.rule.MemoryLimit)
		if err != nil {
			return nil, refuse(Failed, "memoryLimit: %v", err)
		}
		most = uint64(*n)
	}
	limit := most
	if t.fit != nil {
		if t.fit.Most == 0 {
			return nil, refuse(NoRoom, "%s", t.fit.Reason())
		}
		limit = min(limit, t.fit.Most)
		now := uint64(t.now.Limit)
		if t.now.Limit != t.before.Limit && t.kept == t.fit.Limit && now <= most && !t.fit.Breaks(now) && float64(limit) < rise*float64(now) {
			limit = now
		}
	}
	if least := memlimit.Least(t.own); limit < least {
		return nil, refuse(NoRoom, "a memory limit of %s is less than the %s that its Go runtime needs now", unit.Exact(limit), unit.Size(least))
	}
	return new(int64(limit)), nil
}

// room refuses a change that may take more memory than there is.
func (t *terms) room(c livegc.Change) *refusal {
	after := c.Of(t.before)
	none := after.Limit == math.MaxInt64
	if after.Percent < 0 && none {
		return refuse(NoLimit, "%v", livegc.ErrNoLimit)
	}
	if c.IsZero() || t.fit != nil && !none && t.fit.Most > 0 && !t.fit.Breaks(uint64(after.Limit)) {
		return nil // the limit keeps it within the container
	}
	// By GOGC the heap grows in proportion to what is live, or to the limit.
	grows := float64(t.own.Live) * float64(after.Percent-max(t.now.Percent, 0)) / 100
	if after.Percent < 0 {
		if grows = math.Inf(1); t.fit != nil {
			return refuse(NoRoom, "GOGC=off needs a memory limit that keeps it within its container: %s does not", livegc.GOMEMLIMIT(after.Limit))
		}
	}
	if !none {
		grows = min(grows, float64(after.Limit)-float64(t.own.Resident))
	}
	if after == t.now {
		grows = 0
	}
	if t.fit == nil {
		if grows > float64(t.spare) {
			return refuse(NoRoom, "it would grow by %s, and the node has %s to spare", unit.Bytes(grows), unit.Size(t.spare))
		}
		return nil
	}
	used := float64(t.fit.Outside + t.own.Resident)
	for _, o := range t.fit.Others {
		used += float64(o.Resident)
	}
	free := t.headroom
	if after == t.now {
		free /= 2 // it has used some since
	}
	if used+max(grows, 0) > (1-free)*float64(t.fit.Limit) {
		return refuse(NoRoom, "its container would come to %s of %s, and %s are to stay free", unit.Bytes(used+max(grows, 0)), unit.Size(t.fit.Limit), unit.Percent(free))
	}
	return nil
}
