// Package inspect looks at the memory of other processes: by kind, how much of
// it is on huge pages, how dense its windows are, and what huge pages could be
// made of. It reads /proc only; the process is not stopped, and nothing is changed.
//
// What could not be seen is nil, and a note says why.
package inspect
