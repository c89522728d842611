package lab

import (
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"

	"github.com/foliomem/folio/page"
)

// freeWindows returns how many whole windows of free memory the machine has, 0
// when it does not say.
func freeWindows() int {
	data, err := os.ReadFile("/proc/buddyinfo")
	if err != nil {
		return 0
	}
	n, err := parseBuddy(string(data), bits.Len(uint(page.WindowSize()/page.Size()))-1)
	if err != nil {
		return 0
	}
	return n
}

// parseBuddy reads /proc/buddyinfo: for each zone, how many blocks of 1, 2, 4...
// pages are free. It returns how many blocks of 1<<order pages that makes. See
// proc_buddyinfo(5).
func parseBuddy(text string, order int) (int, error) {
	sum := 0
	for l := range strings.Lines(text) {
		_, rest, ok := strings.Cut(l, "zone")
		f := strings.Fields(rest)
		if !ok || len(f) < 2 {
			return 0, fmt.Errorf("want \"Node N, zone NAME counts\", have %q", l)
		}
		for i, c := range f[1:] {
			n, err := strconv.ParseUint(c, 10, 40)
			if err != nil {
				return 0, err
			}
			if i >= order && i-order < 20 {
				sum += int(n) << (i - order)
			}
		}
	}
	return sum, nil
}
