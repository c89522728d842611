package codepatch

import "fmt"

// Shared returns the addresses of the globals that both of two functions of a
// program use.
func Shared(f Image, a, b string) ([]uint64, error) {
	arch, err := acceptable(f)
	if err != nil {
		return nil, err
	}
	counts := map[uint64]int{}
	found := 0
	for fn := range f.Funcs() {
		if fn.Name != a && fn.Name != b {
			continue
		}
		c, err := code(f, fn)
		if err != nil {
			return nil, err
		}
		uses, err := arch.uses(fn, c)
		if err != nil {
			return nil, err
		}
		seen := map[uint64]bool{}
		for _, u := range uses {
			if !u.call && !seen[u.address] {
				seen[u.address] = true
				counts[u.address]++
			}
		}
		if found++; found == 2 {
			break
		}
	}
	if found != 2 {
		return nil, fmt.Errorf("no functions %s and %s", a, b)
	}
	var out []uint64
	for at, n := range counts {
		if n == 2 {
			out = append(out, at)
		}
	}
	return out, nil
}
