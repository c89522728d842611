package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// Names of arms.
const (
	nameDefault      = "default"
	nameAutomemlimit = "automemlimit"
	nameOff          = "GOGC=off+limit"
	nameAuto         = "auto"
	nameTune         = "tune"
	nameTwoP         = "auto-2P"
	nameSweepP       = "auto-sweep"
	nameNoGC         = "no GC"
)

// armNames are all of them, in the order of the table. The last three are only measured
// when asked for.
var armNames = []string{nameDefault, nameAutomemlimit, nameOff, nameAuto, nameTune, nameTwoP, nameSweepP, nameNoGC}

// chooseArms returns the arms with these names, separated by commas.
func chooseArms(names string) ([]string, error) {
	out := strings.Split(names, ",")
	for _, name := range out {
		if !slices.Contains(armNames, name) {
			return nil, fmt.Errorf("-arms %q: no such arm: want some of %s", name, strings.Join(armNames, ", "))
		}
	}
	if out[0] != nameDefault {
		return nil, fmt.Errorf("-arms %s: %s has to be the first: the others are compared with it", names, nameDefault)
	}
	return out, nil
}

// Variables that turn what services import off.
var (
	automemlimitOff = "AUTOMEMLIMIT=off"
	autoOff         = "FOLIO=off"
)

// plain is the environment of all arms but those that turn something on.
var plain = []string{automemlimitOff, autoOff}

// arms are those with these names, of a service with a memory limit; found is the answer of
// folio tune, nil for none.
func arms(names []string, limit uint64, found *trial.Setting) []*Arm {
	const share = 0.9 // of the limit for GOMEMLIMIT, as automemlimit has it
	out := []*Arm{
		{Name: nameDefault, setting: trial.Setting{Env: plain}},
		{Name: nameAutomemlimit, setting: trial.Setting{Env: []string{autoOff}}},
		{Name: nameOff, setting: trial.Setting{GOGC: trial.Off, MemLimit: uint64(share * float64(limit)), Env: plain}},
		{Name: nameAuto, setting: trial.Setting{Env: []string{automemlimitOff}}},
	}
	if found != nil {
		s := *found
		s.Env = plain
		out = append(out, &Arm{Name: nameTune, setting: s})
	}
	out = append(out, &Arm{Name: nameTwoP, setting: trial.Setting{Env: []string{automemlimitOff, "FOLIO=secondp=gc"}}})
	out = append(out, &Arm{Name: nameSweepP, setting: trial.Setting{Env: []string{automemlimitOff, "FOLIO=secondp=sweep"}}})
	out = append(out, &Arm{Name: nameNoGC, setting: trial.Setting{GOGC: trial.Off, Env: plain}})
	return slices.DeleteFunc(out, func(a *Arm) bool { return !slices.Contains(names, a.Name) })
}

// environ is the environment that the settings of arms change: without what would decide
// for them.
func environ(base []string) []string {
	for _, key := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "AUTOMEMLIMIT", "FOLIO"} {
		base = without(base, key)
	}
	return base
}
