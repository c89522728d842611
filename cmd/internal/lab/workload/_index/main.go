// Index makes a full-text index of documents in memory, with bleve, and prints
// what that cost as a Go benchmark:
//
//	index NAME SIZE LIST
//
// LIST is a file with the path of a document on each line. They are read before
// the time begins, and indexed in batches of 100: once, to take the memory that it
// needs from the system, and once more, into an index of its own, which counts.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2"
)

const batchSize = 100

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "index:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want NAME SIZE LIST, have %q", args)
	}
	docs, err := read(args[2])
	if err != nil {
		return err
	}
	first, idx, err := measure(docs)
	if err != nil {
		return err
	}
	if err := idx.Close(); err != nil {
		return err
	}
	u, idx, err := measure(docs)
	if err != nil {
		return err
	}
	matches, err := look(idx, len(docs))
	if err != nil {
		return err
	}
	if err := idx.Close(); err != nil {
		return err
	}
	fmt.Printf("Benchmark%s/size=%s 1", args[0], args[1])
	for _, f := range []struct {
		value float64
		key   string
	}{
		{u.wall.Seconds(), "op_seconds"},
		{first.wall.Seconds(), "first_seconds"},
		{first.cpu.Seconds(), "first_cpu_seconds"},
		{float64(len(docs)) / u.wall.Seconds(), "documents_per_second"},
		{u.cpu.Seconds(), "cpu_seconds"},
		{u.cpu.Seconds() - u.system.Seconds(), "user_seconds"},
		{u.system.Seconds(), "system_seconds"},
		{float64(u.peak), "peak_rss_bytes"},
		{float64(first.faults + u.faults), "faults"},
		{min(u.collection/u.cpu.Seconds(), 1), "gc_runtime_fraction"},
		{float64(u.cycles), "gc_cycles"},
		{u.huge, "huge_fraction"},
		{float64(len(docs)), "documents"},
		{float64(matches), "matches"},
	} {
		fmt.Printf(" %g %s", f.value, f.key)
	}
	fmt.Println()
	return nil
}

type document struct {
	name string
	Text string `json:"text"`
}

func read(list string) (docs []document, err error) {
	data, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	for path := range strings.Lines(string(data)) {
		path = strings.TrimSuffix(path, "\n")
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		docs = append(docs, document{strconv.Itoa(len(docs)), string(text)})
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("%s names no documents", list)
	}
	return docs, nil
}

// measure makes an index and says what that cost.
func measure(docs []document) (used, bleve.Index, error) {
	m := newMeter()
	idx, err := index(docs)
	return m.stop(), idx, err
}

func index(docs []document) (bleve.Index, error) {
	idx, err := bleve.NewMemOnly(bleve.NewIndexMapping())
	if err != nil {
		return nil, err
	}
	for len(docs) > 0 {
		n := min(batchSize, len(docs))
		b := idx.NewBatch()
		for _, d := range docs[:n] {
			if err := b.Index(d.name, d); err != nil {
				return nil, err
			}
		}
		if err := idx.Batch(b); err != nil {
			return nil, err
		}
		docs = docs[n:]
	}
	return idx, nil
}

// look returns how many documents hold words that Go files do: the same for all
// who indexed the same.
func look(idx bleve.Index, want int) (uint64, error) {
	if n, err := idx.DocCount(); err != nil || n != uint64(want) {
		return 0, fmt.Errorf("the index holds %d documents instead of %d: %v", n, want, err)
	}
	res, err := idx.Search(bleve.NewSearchRequestOptions(bleve.NewMatchQuery("return error"), 10, 0, false))
	if err != nil {
		return 0, err
	}
	return res.Total, nil
}
