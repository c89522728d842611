// Command waterfall shows how near the parts of RSS of folio inspect are to what the kernel
// and the programs themselves say, on real programs: the table in docs/lab-notes/inspect.md.
//
//	go run ./cmd/bench/waterfall [-dir dir] [-go release,...] [-build name] [program...]
//
// It downloads six servers of others (esbuild, nats-server, caddy, etcd, victoria-metrics,
// gopls) and builds each with one more file, by which it prints what package
// runtime/metrics says: as the go command builds it, stripped (-s -w), and stripped and
// position-independent. Each gets data, and is left alone until it says twice the same. Then
// its memory is read from outside, between two of its own answers. "sum" is by how much the
// parts together differ from smaps, which is read by itself; "part" the part of the Go
// runtime that is farthest from the answers, by its share. Then it is read 20 times while it
// works: how long a reading takes, by how much RSS and the parts moved meanwhile, and how
// often the program's answers before and after lie around what was read, to within the
// uncertainty that the reading states.
//
//	go run ./cmd/bench/waterfall -cost 4GiB
//
// measures what a reading, by page tables and by smaps, folio inspect and folio leaks cost on a
// program with 4 GiB of heap and 100,000 goroutines: time, CPU time, and for how long the
// program, which maps a page each millisecond, has to wait at most.
//
// It fails if a sum or a part of a program at rest is off by more than 2%. A program whose
// module wants a later release of Go is left out, and said to be.
package main
