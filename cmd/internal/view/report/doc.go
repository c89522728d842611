// Package report says in sentences what results have found: documents, and the screen of a
// process that is watched, are made of them. It decides nothing: what to recommend is the
// business of tune, what to suggest that of diagnose.
package report
