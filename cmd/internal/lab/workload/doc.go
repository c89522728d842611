// Package workload holds the source of programs that the lab builds with the go
// command, stock and patched: a full-text index of Go files, loops that allocate,
// and a server that allocates in bursts.
//
// The program index needs a module that nobody who uses Folio should have to
// download. So its source is not part of this module: it lies in a directory that
// the go command passes over, with its go.mod and go.sum under other names, and
// becomes a module when it is written out. To change what it requires:
// write it out, change it with the go command, and copy go.mod and go.sum back.
package workload
