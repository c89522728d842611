package report

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

func TestRemoved(t *testing.T) {
	sampled := func() *profile.Result {
		return &profile.Result{Samples: 7976, Kernel: true, GCFraction: new(0.25), MemoryTaxFraction: new(0.3), Classes: []profile.ClassShare{
			{Class: profile.GCMark, Seconds: 2, Fraction: 0.25}, {Class: profile.PageFaults, Seconds: 0.25, Fraction: 0.03125},
			{Class: profile.Syscalls, Seconds: 0.008, Fraction: 0.001}, {Class: profile.Program, Seconds: 5.742, Fraction: 0.71775}}}
	}
	base, with := sampled(), sampled()
	for i := range with.Classes {
		switch c := &with.Classes[i]; c.Class {
		case profile.GCMark:
			c.Seconds = 0.5 // from 2
		case profile.PageFaults:
			c.Seconds = 0.75 // from 0.25
		case profile.Syscalls:
			c.Seconds = 0 // too little to be told
		}
	}
	if got, want := removed(base, with, 4), "marking 2.000s -> 500.0ms, page faults 250.0ms -> 750.0ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := removed(nil, with, 4); got != "" {
		t.Errorf("without samples of the default: got %q", got)
	}
}
