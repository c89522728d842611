package codepatch

import (
	"bytes"
	"fmt"
	"io"
)

// In says whether a running program has the patch, which [Find] has found for its
// file: entry is the address where the process started, mem its memory.
func (p *Patch) In(entry uint64, mem io.ReaderAt) (bool, error) {
	if p.Applied {
		return true, nil
	}
	bias := entry - p.Entry
	found := 0
	for _, e := range p.Edits {
		b := make([]byte, len(e.New))
		if _, err := mem.ReadAt(b, int64(e.Address+bias)); err != nil {
			return false, fmt.Errorf("read its code at %#x: %w", e.Address+bias, err)
		}
		if bytes.Equal(b, e.New) {
			found++
		}
	}
	return found == len(p.Edits), nil
}
