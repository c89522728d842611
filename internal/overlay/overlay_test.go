package overlay

import (
	"context"
	"testing"
)

// Every patch applies to the toolchain at hand, if it is for it.
func TestPatchesFit(t *testing.T) {
	toolchain, err := FindToolchain(context.Background(), "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	toolchain.Experiment = "arenas"
	for _, p := range Patches() {
		if err := p.Fits(toolchain); err != nil {
			t.Error(err)
		}
	}
}
