// Package text renders the documents for a terminal: answers first, then tables and
// sentences. A chart is its table.
package text
