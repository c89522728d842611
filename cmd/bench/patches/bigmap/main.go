// Command bigmap fills a map of 8 million entries and looks each of them up, four
// times: a heap that grows once, and is then read at random.
package main

import "fmt"

func main() {
	const n = 8_000_000
	m := make(map[uint64]uint64)
	for i := range uint64(n) {
		m[i*0x9e3779b97f4a7c15] = i
	}
	sum := uint64(0)
	for range 4 {
		for i := range uint64(n) {
			sum += m[i*0x9e3779b97f4a7c15]
		}
	}
	fmt.Println(len(m), sum)
}
