package main

import (
	"github.com/foliomem/folio/internal/trial"
)

// Names of arms.
const (
	nameDefault      = "default"
	nameAutomemlimit = "automemlimit"
	nameOff          = "GOGC=off+limit"
	nameAuto         = "auto"
	nameTune         = "tune"
)

// Variables that turn what services import off, and the one of GOMAXPROCS: a program that
// was pinned before it began would find that out itself, but folio tune cannot start one so
// (its --thp heap needs the program itself, not taskset).
var (
	automemlimitOff = "AUTOMEMLIMIT=off"
	autoOff         = "FOLIO=off"
	procs           = "GOMAXPROCS=1"
)

// plain is the environment of all arms but those that turn something on.
var plain = []string{procs, automemlimitOff, autoOff}

// arms are those of a service with a memory limit; found is the answer of folio tune, nil
// for none.
func arms(limit uint64, found *trial.Setting) []*Arm {
	const share = 0.9 // of the limit for GOMEMLIMIT, as automemlimit has it
	out := []*Arm{
		{Name: nameDefault, setting: trial.Setting{Env: plain}},
		{Name: nameAutomemlimit, setting: trial.Setting{Env: []string{procs, autoOff}}},
		{Name: nameOff, setting: trial.Setting{GOGC: trial.Off, MemLimit: uint64(share * float64(limit)), Env: plain}},
		{Name: nameAuto, setting: trial.Setting{Env: []string{procs, automemlimitOff}}},
	}
	if found != nil {
		s := *found
		s.Env = plain
		out = append(out, &Arm{Name: nameTune, setting: s})
	}
	return out
}

// environ is the environment that the settings of arms change: without what would decide
// for them.
func environ(base []string) []string {
	for _, key := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "AUTOMEMLIMIT", "FOLIO"} {
		base = without(base, key)
	}
	return base
}
