// Package item defines the records that the jsonserver example serves and
// makes them up from a seed, for the server and its load generator alike.
package item

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

const (
	// DefaultRecords is the number of records that gives the server about
	// 200 MB of live heap.
	DefaultRecords = 15600
	// DefaultSeed is the seed both programs use unless told otherwise.
	DefaultSeed = 1
)

// A Record is one item of the store. ID is its first field, so that its JSON
// begins with the id.
type Record struct {
	ID          int               `json:"id"`
	Rev         int               `json:"rev"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Price       float64           `json:"price"`
	Tags        []string          `json:"tags"`
	Attrs       map[string]string `json:"attrs"`
	Parts       []Part            `json:"parts"`
}

// A Part is one component of an item.
type Part struct {
	SKU   string   `json:"sku"`
	Qty   int      `json:"qty"`
	Sizes []int    `json:"sizes"`
	Notes []string `json:"notes"`
}

// Words is the vocabulary of names and descriptions, in lower case.
var Words = strings.Fields(`amber anchor basin beacon bolt brass cable cedar
	clamp copper crane delta ember fender flint frame gasket girder glass
	granite hinge iron jigsaw kettle ladder lantern lever linen magnet maple
	marble motor nickel oak paddle panel piston plank pulley quartz rivet
	rotor saddle sensor shaft silver spindle spring steel switch timber
	torque tunnel turbine valve velvet vise walnut washer wedge wheel willow
	winch zinc`)

var attrs = []string{"color", "grade", "origin", "finish"}

// New returns record id of the data set with the given seed. Ids begin at 1;
// equal arguments give equal records.
func New(seed uint64, id int) *Record {
	r := rand.New(rand.NewPCG(seed, uint64(id)))
	rec := &Record{
		ID:          id,
		Name:        phrase(r, 3),
		Description: phrase(r, 16),
		Price:       float64(100+r.IntN(100000)) / 100,
		Tags:        make([]string, 4),
		Attrs:       make(map[string]string, len(attrs)),
		Parts:       make([]Part, 64),
	}
	for i := range rec.Tags {
		rec.Tags[i] = code(r)
	}
	for _, a := range attrs {
		rec.Attrs[a] = code(r)
	}
	for i := range rec.Parts {
		p := Part{SKU: code(r), Qty: 1 + r.IntN(99), Sizes: make([]int, 4), Notes: make([]string, 2)}
		for j := range p.Sizes {
			p.Sizes[j] = r.IntN(1000)
		}
		for j := range p.Notes {
			p.Notes[j] = phrase(r, 2)
		}
		rec.Parts[i] = p
	}
	return rec
}

// phrase returns n words, the first letter of each in upper case.
func phrase(r *rand.Rand, n int) string {
	var buf [256]byte
	b := buf[:0]
	for i := range n {
		if i > 0 {
			b = append(b, ' ')
		}
		w := Words[r.IntN(len(Words))]
		b = append(b, w[0]-'a'+'A')
		b = append(b, w[1:]...)
	}
	return string(b)
}

// code returns a word and a number, such as brass-1234.
func code(r *rand.Rand) string {
	return Words[r.IntN(len(Words))] + "-" + strconv.Itoa(r.IntN(10000))
}
