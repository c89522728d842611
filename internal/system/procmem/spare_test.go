package procmem

import "testing"

func TestSpareMemory(t *testing.T) {
	for fixture, want := range map[string]uint64{
		"cgroup-v1":   1 << 30, // the container's limit is below what is free
		"cgroup-none": 4 << 30, // neither says
	} {
		if got := New("testdata/" + fixture).SpareMemory(); got != want/10*7 {
			t.Errorf("%s: SpareMemory = %d, want 70%% of %d", fixture, got, want)
		}
	}
}
