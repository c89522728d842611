//go:build !linux

// Command kills needs Linux.
package main

import "os"

func main() {
	os.Stderr.WriteString("kills: needs Linux\n")
	os.Exit(1)
}
