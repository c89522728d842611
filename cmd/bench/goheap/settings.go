package main

import (
	"os"

	"github.com/foliomem/folio/cmd/internal/lab/settings"
)

const thpDir = "/sys/kernel/mm/transparent_hugepage/"

const guardCommand = "guard"

// guardMain is the process that puts settings back when this program could not.
func guardMain(args []string) error {
	return settings.Main([]string{guardCommand}, args, os.Stdin, os.Stdout)
}

// newSettings starts the guard.
func newSettings() (*settings.Changer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return settings.New([]string{self, guardCommand})
}
