package page

import "fmt"

// sizeText writes a size as people do: whole numbers of the largest unit that
// gives one, else with one decimal.
func sizeText(n uint64) string {
	units := []struct {
		name  string
		bytes uint64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
	for _, u := range units {
		if n < u.bytes {
			continue
		}
		if n%u.bytes == 0 {
			return fmt.Sprintf("%d %s", n/u.bytes, u.name)
		}
		return fmt.Sprintf("%.1f %s", float64(n)/float64(u.bytes), u.name)
	}
	return fmt.Sprintf("%d bytes", n)
}
