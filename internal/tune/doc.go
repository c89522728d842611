// Package tune searches the settings of the Go runtime for the best ones for a
// program.
//
// The search is a race. Every arm gets a few rounds; arms run interleaved, each
// once a round in random order, and are compared with the leader round by
// round, so that a machine that changes its speed misleads no one. An arm that
// is clearly slower leaves the race; if it needs no less memory, either, it is
// dominated, else it stays on the Pareto front of time against memory. After
// three rounds the neighbourhood of the best is filled in. The race ends when
// what remains is settled, when every remaining arm has had the most rounds, or
// when the time budget is spent.
//
// What is compared is a cost: seconds, or the user's metric (its inverse when
// more is better). Memory is the peak of the whole process tree.
package tune
