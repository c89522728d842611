// Package diagnose turns what was measured into words: where the time of a
// program went, and what to try next ([RunFacts]); and what is wrong with a machine
// and a process, from what their files say ([Facts]). It says nothing that was
// not measured or read. Rules are data plus a function each, and pure: see rules
// and [Rules].
package diagnose
