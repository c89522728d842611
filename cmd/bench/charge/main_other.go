//go:build !linux

package main

import "log"

func main() { log.Fatal("charge: needs Linux") }
