// Package ab compares programs: two or more arms run interleaved, in rounds of
// random order, until a difference of a given size would have been seen.
//
// Arms are compared within rounds only, by Wilcoxon's signed-rank test, so that a
// machine that changes its speed misleads no one. The figures that decide (the
// metric, each Go benchmark, and those that a [Bound] names) are one family, all
// others a second one; in each at most one comparison in twenty finds a difference
// where there is none (Holm's correction).
//
// When to stop is decided by how precise the comparison is, not by what it says.
// [stat.Paired.Detectable] looks at the sizes of the differences alone. Where two
// arms do not differ, each round's sign is a fair coin whatever the sizes are: a
// rule that sees only these can stop when it likes, and the test keeps its level.
// Differences much larger than the noise would make that rule wait for nothing, so
// a tenth of the error is spent on looking at the signs as well, at rounds 10, 20,
// 40 and so on: a comparison that is precise by its interval and significant at
// that level needs no more rounds.
package ab
