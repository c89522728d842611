package lab

import "time"

// A pace estimates how long a lab still takes.
type pace struct {
	out    *Outcome
	trials int
	spent  time.Duration
	rest   []*Outcome    // that come after this one
	bound  time.Duration // that an experiment may take; 0 for none
}

// took counts a trial of an experiment.
func (p *pace) took(out *Outcome, d time.Duration) {
	if out != p.out {
		p.out, p.trials, p.spent = out, 0, 0
	}
	p.trials++
	p.spent += d
}

// guess is how long a trial of an experiment takes before one was seen.
func (o *Outcome) guess() time.Duration {
	return time.Second + time.Duration(float64(o.Params.Size)/(1<<30)*float64(time.Second))
}

// left returns how long it takes from the start of a trial of out in a round.
func (p *pace) left(out *Outcome, round int) time.Duration {
	each := out.guess()
	if p.out == out && p.trials > 0 {
		each = p.spent / time.Duration(p.trials)
	}
	arms := len(out.runnable())
	done := p.trials
	if p.out != out {
		done = 0
	}
	total := arms * out.Params.Rounds
	if round == 0 || done > total {
		total += arms
	}
	left := time.Duration(max(total-done, 1)) * each
	for _, o := range p.rest {
		left += time.Duration(len(o.runnable())*(o.Params.Rounds+1)) * o.guess()
	}
	if p.bound > 0 {
		left = min(left, p.bound*time.Duration(1+len(p.rest)))
	}
	return left
}
