package codepatch

import (
	"fmt"
	"maps"
	"slices"
)

// Shared returns, for each pair of functions of a program, the addresses of the
// globals that both of them use.
func Shared(f Image, pairs ...[2]string) ([][]uint64, error) {
	arch := processors[f.Machine()]
	if arch == nil || !f.HasTable() {
		return nil, refuse(Unreadable, "not a Go program that can be read here")
	}
	want := map[string]map[uint64]bool{}
	for _, p := range pairs {
		want[p[0]], want[p[1]] = nil, nil
	}
	missing := len(want)
	for fn := range f.Funcs() {
		if used, wanted := want[fn.Name]; !wanted || used != nil {
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
		used := map[uint64]bool{}
		for _, u := range uses {
			if !u.call {
				used[u.address] = true
			}
		}
		want[fn.Name] = used
		if missing--; missing == 0 {
			break
		}
	}
	var out [][]uint64
	for _, p := range pairs {
		a, b := want[p[0]], want[p[1]]
		if a == nil || b == nil {
			return nil, fmt.Errorf("no functions %s and %s", p[0], p[1])
		}
		out = append(out, slices.DeleteFunc(slices.Sorted(maps.Keys(a)), func(at uint64) bool { return !b[at] }))
	}
	return out, nil
}
