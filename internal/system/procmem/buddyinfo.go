package procmem

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// FreeBlocks is how much memory is free in blocks of 1, 2, 4... base pages: the
// index is the order, the value the number of blocks. A transparent huge page
// needs a block of its size.
type FreeBlocks []uint64

// FreeBlocks reads /proc/buddyinfo, all zones together. See proc_buddyinfo(5).
func (f FS) FreeBlocks() (FreeBlocks, error) {
	return load(f.path("proc/buddyinfo"), parseBuddyinfo)
}

// Pages returns the free base pages in blocks of at least 1<<order.
func (b FreeBlocks) Pages(order int) (n uint64) {
	for i := order; i < len(b); i++ {
		n += b[i] << i
	}
	return n
}

// parseBuddyinfo parses lines such as
//
//	Node 0, zone   Normal   4381   2039    701 ...
func parseBuddyinfo(data []byte) (FreeBlocks, error) {
	const mostOrders, mostBits = 20, 40 // so that Pages cannot overflow
	var all FreeBlocks
	for line := range strings.Lines(string(data)) {
		_, rest, ok := strings.Cut(line, "zone")
		fields := strings.Fields(rest)
		if !ok || len(fields) < 2 {
			return nil, fmt.Errorf("want \"Node N, zone NAME counts\", have %q", line)
		}
		if len(fields)-1 > mostOrders {
			return nil, fmt.Errorf("%d orders in %q", len(fields)-1, line)
		}
		for i, text := range fields[1:] {
			n, err := strconv.ParseUint(text, 10, mostBits)
			if err != nil {
				return nil, err
			}
			if i == len(all) {
				all = append(all, 0)
			}
			if all[i] += n; all[i] >= 1<<mostBits {
				return nil, errOverflow
			}
		}
	}
	if all == nil {
		return nil, errors.New("no zones")
	}
	return all, nil
}
