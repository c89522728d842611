// Package document makes results into documents without a format: sections with answers,
// notes, and blocks of words, tables and charts. A kind of result has one builder here, a
// format one renderer elsewhere (packages text, html and markdown).
//
// A document answers first ("what should I do?", with its figure and how well it is known),
// then draws, then lists; every chart has a table, and the raw samples come along.
//
// This package has no policy of its own: what is recommended, and why, is in the results.
package document
