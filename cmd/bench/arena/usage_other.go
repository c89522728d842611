//go:build !linux

package main

import "os"

// usage is known on Linux.
func usage(*os.ProcessState) (rss, faults float64) { return nan, nan }
