package main

import "unsafe"

// word is the size of a pointer, so that objects are as large everywhere.
const word = unsafe.Sizeof(uintptr(0))

// A kind of object, and the loop that allocates n of them.
type kind struct {
	name     string // of its figure
	size     uint64 // bytes
	allocate func(n int)
}

// none is false, and sink never written; the compiler does not know, and puts
// every object on the heap.
var (
	none bool
	sink any
)

// A loop is written out for each kind: with a type parameter the compiler would
// hand the type over at run time.
var kinds = []kind{
	{"malloc8", 8, func(n int) {
		for range n {
			if p := new(int64); none {
				sink = p
			}
		}
	}},
	{"malloc16", 16, func(n int) {
		for range n {
			if p := new([2]int64); none {
				sink = p
			}
		}
	}},
	{"malloc_type_info8", 8, func(n int) {
		for range n {
			if p := new(struct{ p [8 / word]*int }); none {
				sink = p
			}
		}
	}},
	{"malloc_type_info16", 16, func(n int) {
		for range n {
			if p := new(struct{ p [16 / word]*int }); none {
				sink = p
			}
		}
	}},
	{"malloc_large_struct", 768, func(n int) {
		for range n {
			if p := make([]large, 2); none {
				sink = p
			}
		}
	}},
	{"noscan32", 32, func(n int) {
		for range n {
			if p := new([32]byte); none {
				sink = p
			}
		}
	}},
	{"noscan64", 64, func(n int) {
		for range n {
			if p := new([64]byte); none {
				sink = p
			}
		}
	}},
	{"noscan128", 128, func(n int) {
		for range n {
			if p := new([128]byte); none {
				sink = p
			}
		}
	}},
	{"noscan256", 256, func(n int) {
		for range n {
			if p := new([256]byte); none {
				sink = p
			}
		}
	}},
	{"noscan512", 512, func(n int) {
		for range n {
			if p := new([512]byte); none {
				sink = p
			}
		}
	}},
	{"noscan1024", 1024, func(n int) {
		for range n {
			if p := new([1024]byte); none {
				sink = p
			}
		}
	}},
	{"noscan2048", 2048, func(n int) {
		for range n {
			if p := new([2048]byte); none {
				sink = p
			}
		}
	}},
	{"noscan4096", 4096, func(n int) {
		for range n {
			if p := new([4096]byte); none {
				sink = p
			}
		}
	}},
	{"noscan8192", 8192, func(n int) {
		for range n {
			if p := new([8192]byte); none {
				sink = p
			}
		}
	}},
	{"noscan16384", 16384, func(n int) {
		for range n {
			if p := new([16384]byte); none {
				sink = p
			}
		}
	}},
	{"noscan32768", 32768, func(n int) {
		for range n {
			if p := new([32768]byte); none {
				sink = p
			}
		}
	}},
	{"pointers32", 32, func(n int) {
		for range n {
			if p := new([32 / word]*int); none {
				sink = p
			}
		}
	}},
	{"pointers64", 64, func(n int) {
		for range n {
			if p := new([64 / word]*int); none {
				sink = p
			}
		}
	}},
	{"pointers128", 128, func(n int) {
		for range n {
			if p := new([128 / word]*int); none {
				sink = p
			}
		}
	}},
	{"pointers256", 256, func(n int) {
		for range n {
			if p := new([256 / word]*int); none {
				sink = p
			}
		}
	}},
	{"pointers512", 512, func(n int) {
		for range n {
			if p := new([512 / word]*int); none {
				sink = p
			}
		}
	}},
	{"pointers1024", 1024, func(n int) {
		for range n {
			if p := new([1024 / word]*int); none {
				sink = p
			}
		}
	}},
	{"pointers2048", 2048, func(n int) {
		for range n {
			if p := new([2048 / word]*int); none {
				sink = p
			}
		}
	}},
	{"pointers4096", 4096, func(n int) {
		for range n {
			if p := new([4096 / word]*int); none {
				sink = p
			}
		}
	}},
	{"pointers8192", 8192, func(n int) {
		for range n {
			if p := new([8192 / word]*int); none {
				sink = p
			}
		}
	}},
	{"pointers16384", 16384, func(n int) {
		for range n {
			if p := new([16384 / word]*int); none {
				sink = p
			}
		}
	}},
	{"pointers32768", 32768, func(n int) {
		for range n {
			if p := new([32768 / word]*int); none {
				sink = p
			}
		}
	}},
}

// large has a pointer in every third word, with lengths between them.
type large struct{ x [16][]byte }
