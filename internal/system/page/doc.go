// Package page maps, advises, populates, releases and collapses memory of this
// process, and says what of it is resident; it reads and collapses memory of other
// processes. Package page of the libraries is its part for users, and documents what
// both have.
package page
