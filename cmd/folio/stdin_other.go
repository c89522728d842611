//go:build !linux

package main

import "os"

func roomLeft(*os.File) error { return nil }
