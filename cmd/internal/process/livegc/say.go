package livegc

import (
	"fmt"
	"strings"
)

// Say says in a line which settings are in effect, and where they come from.
func (p *Process) Say() (string, error) {
	s, err := p.State()
	return fmt.Sprintf("process %d (%s): GOGC=%s (%s), GOMEMLIMIT=%s (%s)", p.PID, p.Name, GOGC(s.Percent), s.PercentBy, GOMEMLIMIT(s.Limit), s.LimitBy), err
}

// SayChange says in lines what was changed, and what in the program may change it again.
func (p *Process) SayChange(c Change) []string {
	b, n := p.Undo.Before, p.Undo.After
	var changes []string
	if c.Percent != nil {
		changes = append(changes, changed("GOGC", GOGC(b.Percent), GOGC(n.Percent)))
	}
	if c.Limit != nil {
		changes = append(changes, changed("GOMEMLIMIT", GOMEMLIMIT(b.Limit), GOMEMLIMIT(n.Limit)))
	}
	out := []string{fmt.Sprintf("process %d (%s): %s", p.PID, p.Name, strings.Join(changes, ", "))}
	if rivals := p.Rivals(c); rivals != "" {
		out = append(out, fmt.Sprintf("process %d (%s): the program may change it again: it %s", p.PID, p.Name, rivals))
	}
	return out
}

func changed(name, from, to string) string {
	if from == to {
		return name + "=" + from + ", as before"
	}
	return name + "=" + from + " -> " + to
}
