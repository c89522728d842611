//go:build !linux

// Command programs needs Linux.
package main

import "os"

func main() {
	os.Stderr.WriteString("programs: needs Linux\n")
	os.Exit(1)
}
