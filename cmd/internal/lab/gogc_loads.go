package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A gogcLoad is a kind of work that leaves garbage behind. make prepares it and
// returns one operation, which goroutine i does with its own random numbers.
type gogcLoad struct {
	name, title string
	make        func(Task) (func(i int, r *rand.Rand), error)
}

var gogcLoads = []gogcLoad{
	{"ecdsa", "ECDSA P-256 signing", signing},
	{"json", "decoding JSON", decoding},
	{"strings", "building strings", building},
	{"trees", "short-lived trees", planting},
}

func gogcLoadOf(name string) (gogcLoad, bool) {
	for _, l := range gogcLoads {
		if l.name == name {
			return l, true
		}
	}
	return gogcLoad{}, false
}

// keep is how much of the memory a workload that keeps something keeps: little,
// so that its garbage is what matters.
const keep = 64

// signing is the program of the source: next to nothing is live.
func signing(Task) (func(int, *rand.Rand), error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte("folio"))
	return func(int, *rand.Rand) {
		if _, err := ecdsa.SignASN1(crand.Reader, key, hash[:]); err != nil {
			panic(err) // the key is good and random numbers never fail
		}
	}, nil
}

// A document is what is decoded.
type document struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Items []documentItem    `json:"items"`
	Tags  map[string]string `json:"tags"`
}

type documentItem struct {
	Code  string  `json:"code"`
	Count int     `json:"count"`
	Price float64 `json:"price"`
}

// decoding decodes documents of about 500 bytes. Each takes the place of an older
// one, so that some are live.
func decoding(t Task) (func(int, *rand.Rand), error) {
	const each = 2 << 10 // of a decoded one, about
	var texts [][]byte
	for i := range 64 {
		d := document{ID: i, Name: fmt.Sprintf("document %d", i), Tags: map[string]string{"kind": "order", "shard": strconv.Itoa(i % 8)}}
		for k := range 8 {
			d.Items = append(d.Items, documentItem{Code: fmt.Sprintf("%06d-%d", 7919*i%1000000, k), Count: k, Price: float64(k) * 1.25})
		}
		text, err := json.Marshal(d)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	live := make([][]*document, t.Goroutines)
	for i := range live {
		live[i] = make([]*document, max(int(t.Size/keep/each)/t.Goroutines, 1))
	}
	return func(i int, r *rand.Rand) {
		d := new(document)
		if err := json.Unmarshal(texts[r.IntN(len(texts))], d); err != nil {
			panic(err) // the texts come from Marshal
		}
		live[i][r.IntN(len(live[i]))] = d
	}, nil
}

// building makes a page of lines, by pieces.
func building(Task) (func(int, *rand.Rand), error) {
	return func(_ int, r *rand.Rand) {
		var lines []string
		for range 40 {
			var b strings.Builder
			b.WriteString("item ")
			b.WriteString(strconv.Itoa(r.IntN(1e6)))
			b.WriteString(": " + strconv.FormatFloat(r.Float64(), 'g', -1, 64))
			lines = append(lines, strings.ToUpper(b.String()))
		}
		if text := strings.Join(lines, "\n"); !strings.HasPrefix(text, "ITEM ") {
			panic(text)
		}
	}, nil
}

type plant struct{ left, right *plant }

func grow(depth int) *plant {
	if depth == 0 {
		return &plant{}
	}
	return &plant{grow(depth - 1), grow(depth - 1)}
}

func (p *plant) count() int {
	if p.left == nil {
		return 1
	}
	return 1 + p.left.count() + p.right.count()
}

// planting makes trees of 2047 nodes and drops them, beside a tree that stays.
func planting(t Task) (func(int, *rand.Rand), error) {
	depth := 0
	for n := t.Size / keep / 16; n > 1; n /= 2 {
		depth++
	}
	stays := grow(max(depth-1, 0))
	return func(int, *rand.Rand) {
		if n := grow(10).count(); n != 1<<11-1 || stays.left == nil && depth > 1 {
			panic(n)
		}
	}, nil
}
