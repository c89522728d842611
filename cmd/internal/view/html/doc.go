// Package html makes results into pages that people look at: one file that can
// be mailed, opened without a network, and argued over.
//
// A page answers first ("what should I do?", with its figure and how well it is
// known), then draws, then lists; every chart has a table, and the raw samples
// are in the page, to be taken out as JSON. Tables and words are HTML and need
// no script; the charts are drawn by the reader's browser from data in the page.
// A Content-Security-Policy in the page allows its own script and style, by
// their hashes, and nothing else: no request can leave it.
//
// This package has no policy of its own: what is recommended, and why, is in
// the results, or said by package diagnose.
package html
