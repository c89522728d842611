//go:build !linux

package main

import "log"

func main() { log.Fatal("it reads the memory of other processes: Linux only") }
