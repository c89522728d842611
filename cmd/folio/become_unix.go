//go:build unix

package main

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/overlay"
)

// become replaces folio by a go command.
func become(c overlay.Call) error {
	env := c.Cmd(context.Background()).Environ()
	return fmt.Errorf("start %s: %w", c.Path, unix.Exec(c.Path, append([]string{"go"}, c.Args...), env))
}
