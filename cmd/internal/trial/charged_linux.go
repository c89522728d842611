package trial

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A chargeReader keeps what the cgroup of a trial was charged for when it was nearest to its
// limit: after a kill most of it is gone.
type chargeReader struct {
	source *charge.Source
	least  uint64 // nothing is kept below this charge
	kept   procmem.GroupCharge
}

// newChargeReader returns nil where the memory of the trial has no limit.
func newChargeReader(fs procmem.FS, g *cgroup.Group, limit *uint64) *chargeReader {
	if g == nil || limit == nil {
		return nil
	}
	group, err := charge.At(g.MemoryDir())
	if err != nil {
		return nil // the line after a kill is without it
	}
	return &chargeReader{source: &charge.Source{FS: fs, Group: group}, least: *limit / 2}
}

// look reads the cgroup if it has come nearer to its limit. Far from it that takes one file.
func (c *chargeReader) look() {
	usage, err := c.source.Group.Usage()
	if err != nil || usage < c.least || usage <= c.kept.Usage {
		return
	}
	if now, err := c.source.Group.Charge(); err == nil && now.Usage > c.kept.Usage {
		c.kept = now
	}
}

// text says what was charged before an OOM kill, and what still is when all processes have
// ended; "" if nothing was read near the limit.
func (c *chargeReader) text() string {
	if c == nil {
		return ""
	}
	c.look() // tmpfs is still there
	if c.kept.Usage == 0 {
		return ""
	}
	of := c.source.Of(c.kept)
	text := fmt.Sprintf("%s were charged when last read: %s", unit.Size(of.Usage), of.Brief())
	if left, err := c.source.Group.Charge(); err == nil && left.Shared != nil && *left.Shared >= charge.Worth(of.Usage) {
		text += fmt.Sprintf("; %s of tmpfs and shared memory are still charged, and no process is left that maps them (df -t tmpfs)", unit.Size(*left.Shared))
	}
	return text
}
