package trial

import (
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// Of a cycle that was seen in detail both stops are known, and of one that was seen as it marked.
func TestStopsOf(t *testing.T) {
	for _, c := range []struct {
		name          string
		detail        *goruntime.GCCycle
		first, second time.Duration
		ok            bool
	}{
		{"not seen", nil, 0, 0, false},
		{"in detail", &goruntime.GCCycle{Start: 10, Mark: 13, MarkEnd: 20, End: 25}, 3, 5, true},
		{"as it marked", &goruntime.GCCycle{Start: 10, Mark: 13, End: 25}, 3, 6, true},
		{"as it began", &goruntime.GCCycle{Start: 10, End: 25}, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second, ok := stopsOf(gccount.Cycle{Pause: goruntime.Pause{Length: 9}, Detail: c.detail})
			if first != c.first || second != c.second || ok != c.ok {
				t.Errorf("got %v, %v, %v, want %v, %v, %v", first, second, ok, c.first, c.second, c.ok)
			}
		})
	}
}
