// Package report turns results into what people and programs read: text tables,
// JSON of the schema in docs/results.md, and the Go benchmark format. It
// decides nothing: what to recommend is the business of tune, what to suggest
// that of diagnose.
package report
