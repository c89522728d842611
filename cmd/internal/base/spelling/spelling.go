// Package spelling finds the name that a wrong one was meant to be.
package spelling

import "strings"

// Nearest returns the name that is most like a wrong one, "" if none is like it.
func Nearest(wrong string, names []string) string {
	wrong = strings.ToLower(wrong)
	best, least := "", len(wrong)+1
	for _, n := range names {
		d := distance(n, wrong)
		switch {
		case len(wrong) > 2 && strings.HasPrefix(n, wrong):
			d = min(d, 1)
		case !near(d, n, wrong):
			continue
		}
		if d < least {
			best, least = n, d
		}
	}
	return best
}

// Like says that a wrong name may be meant to be this one.
func Like(wrong, name string) bool { return Nearest(wrong, []string{name}) != "" }

// near says whether names that differ in d letters may be meant to be the same: one does, or
// two of at least six.
func near(d int, a, b string) bool {
	n := min(len(a), len(b))
	return d <= 1 && n > 1 || d <= 2 && 3*d <= n
}

// distance is how many letters are to be changed, added, removed, or swapped with the next.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := range len(a) {
		for j := range len(b) {
			cost := rows[i][j]
			if a[i] != b[j] {
				cost = min(cost, rows[i][j+1], rows[i+1][j]) + 1
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = cost
		}
	}
	return rows[len(a)][len(b)]
}
