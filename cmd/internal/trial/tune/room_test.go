package tune

import (
	"fmt"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// The largest limit that is tried leaves room for what is charged outside the runtime.
func TestTopLeavesRoom(t *testing.T) {
	const mib = 1 << 20
	held := func(bytes, charged uint64) trial.Held {
		return trial.Held{Runtimes: 1, Bytes: bytes * mib, Live: 10 * mib, Charged: charged * mib}
	}
	for _, c := range []struct {
		held       trial.Held
		limit, top uint64 // in MiB
	}{
		{trial.Held{}, 192, 172},  // not read: nine tenths
		{held(40, 40), 192, 172},  // nothing outside: nine tenths
		{held(40, 110), 192, 112}, // 70 MiB and the margin of a twentieth
		{held(40, 290), 300, 270}, // none helps: trials show it
		{trial.Held{Runtimes: 2, Bytes: 80 * mib, Live: 20 * mib, Charged: 80 * mib}, 900, 427}, // two of the same
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			s := &search{opts: Options{SafeMemory: 8 << 30, Limit: c.limit * mib, FixedTHP: true}, res: &Result{}}
			if err := s.begin(&trial.Sample{Wall: 1, CPU: 1, Held: c.held}); err != nil {
				t.Fatal(err)
			}
			if s.space.top != c.top*mib || s.space.guard != c.top*mib {
				t.Errorf("top %d MiB, guard %d MiB, want %d MiB", s.space.top/mib, s.space.guard/mib, c.top)
			}
		})
	}
}
