package quiet

import "math/rand/v2"

// Rounds runs each of n arms once a round, in random order: a slow minute of the machine
// is one for all of them. Rounds count from 0.
func Rounds(rounds, n int, one func(round, arm int) error) error {
	for round := range rounds {
		for _, arm := range rand.Perm(n) {
			if err := one(round, arm); err != nil {
				return err
			}
		}
	}
	return nil
}
