// Package guarded changes settings of the system for a benchmark, and has a guard that puts them
// back, whatever ends the benchmark.
package guarded

import (
	"fmt"
	"os"

	"github.com/foliomem/folio/cmd/internal/lab/settings"
)

// THP is the directory of the settings of transparent huge pages.
const THP = "/sys/kernel/mm/transparent_hugepage/"

const command = "guard"

// Play is the guard, if this process was started as one. It is first in main.
func Play() {
	if len(os.Args) < 2 || os.Args[1] != command {
		return
	}
	if err := settings.Main([]string{command}, os.Args[2:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// New starts the guard.
func New() (*settings.Changer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return settings.New([]string{self, command})
}
