package main

import (
	"os"

	"github.com/foliomem/folio/internal/lab/settings"
)

const thpDir = "/sys/kernel/mm/transparent_hugepage/"

const guardCommand = "guard"

// guardMain is the process that puts settings back when this program could not: see
// [settings.Guard]. The one that is started starts the one that stays, and ends.
func guardMain(args []string) error {
	if len(args) == 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		return settings.Detach([]string{self, guardCommand, "stay"})
	}
	settings.Deafen()
	return settings.Guard(os.Stdin, os.Stdout)
}

// newSettings starts the guard.
func newSettings() (*settings.Changer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return settings.New([]string{self, guardCommand})
}
