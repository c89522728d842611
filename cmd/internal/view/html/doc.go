// Package html makes documents into pages that people look at: one file that can be mailed,
// opened without a network, and argued over. Tables and words are HTML and need no script;
// the charts are drawn by the reader's browser from data in the page. A
// Content-Security-Policy in the page allows its own script and style, by their hashes, and
// nothing else: no request can leave it.
package html
