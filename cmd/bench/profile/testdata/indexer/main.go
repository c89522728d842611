// Command indexer puts made up documents into an index in memory. The benchmark
// builds it in a module of its own.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"strings"

	"github.com/blevesearch/bleve/v2"
)

func main() {
	docs := flag.Int("docs", 1000, "number of documents")
	profile := flag.String("profile", "", "write a profile of the processor's time to this `file`")
	flag.Parse()
	if err := run(*docs, *profile); err != nil {
		log.Fatal(err)
	}
}

func run(docs int, profile string) error {
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	index, err := bleve.NewMemOnly(bleve.NewIndexMapping())
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < docs; {
		batch := index.NewBatch()
		for range 100 {
			var text strings.Builder
			for range 80 {
				fmt.Fprintf(&text, "word%d ", int(rng.ExpFloat64()*2000))
			}
			doc := map[string]any{"title": fmt.Sprint("title ", i), "text": text.String()}
			if err := batch.Index(fmt.Sprint("doc", i), doc); err != nil {
				return err
			}
			i++
		}
		if err := index.Batch(batch); err != nil {
			return err
		}
	}
	return nil
}
