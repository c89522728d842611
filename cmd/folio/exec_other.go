//go:build !linux || !(amd64 || arm64)

package main

import "errors"

func (a *app) exec(*execFlags, []string) error {
	return errors.New("exec: needs Linux on amd64 or arm64")
}
