//go:build !linux

// Command sparse needs Linux.
package main

import "os"

func main() {
	os.Stderr.WriteString("sparse: needs Linux\n")
	os.Exit(1)
}
