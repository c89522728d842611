// Package diagnose turns what was measured into words: where the time of a
// program went, and what to try next. It says nothing that was not measured.
// Rules are data plus a function each; see rules.
package diagnose
