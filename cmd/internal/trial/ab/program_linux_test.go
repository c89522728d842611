package ab

import (
	"os"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/test/testenv"
)

// Programs are after a comparison what they were before.
func TestProgramsStay(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first := &trial.Program{Command: []string{exe, "-test.run=^$"}, ReadGC: true, IsGo: true}
	second := *first
	second.Heap = trial.ReadHeap(exe)
	before := testenv.Dump([]*trial.Program{first, &second})
	var set trial.Setting
	if first.MayHeap() == nil {
		set.THP = trial.THPHeap
	}
	arms := []*trial.Arm{{Name: "first", Setting: set, Runner: first}, {Name: "second", Setting: set, Runner: &second}}
	r, err := Compare(t.Context(), arms, Options{Detect: 0.02, Budget: time.Hour, MaxRounds: 2, Request: trial.Request{Profile: 99, KeepSeries: true}})
	if err != nil || r.Rounds != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if after := testenv.Dump([]*trial.Program{first, &second}); after != before {
		t.Errorf("they were\n%s\nand are\n%s", before, after)
	}
}
