package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/blevesearch/bleve/v2"
)

// sources are Go files of the standard library and the go command.
func sources(most int) (out []string, err error) {
	err = filepath.WalkDir(filepath.Join(runtime.GOROOT(), "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.Contains(path, "testdata") || len(out) >= most {
			return err
		}
		const large = 256 << 10 // tables, mostly
		if info, err := d.Info(); err != nil || info.Size() > large {
			return err
		}
		data, err := os.ReadFile(path)
		out = append(out, string(data))
		return err
	})
	if err == nil && len(out) == 0 {
		err = errors.New("there are no Go files in GOROOT")
	}
	return out, err
}

// vocabulary is words to search for, as often as they occur in every tenth file.
func vocabulary(texts []string) (out []string) {
	for i := 0; i < len(texts); i += 10 {
		for _, w := range strings.FieldsFunc(texts[i], func(r rune) bool { return r < 'A' || r > 'z' || r > 'Z' && r < 'a' }) {
			if len(w) > 4 {
				out = append(out, w)
			}
		}
	}
	return out
}

// index puts files into an index, and searches it for two words at a time.
func index(size int) (func(*rand.Rand) error, error) {
	texts, err := sources(size)
	if err != nil {
		return nil, err
	}
	words := vocabulary(texts)
	idx, err := bleve.NewMemOnly(bleve.NewIndexMapping())
	if err != nil {
		return nil, err
	}
	const batch = 100
	for from := 0; from < len(texts); from += batch {
		b := idx.NewBatch()
		for i := from; i < min(from+batch, len(texts)); i++ {
			if err := b.Index(fmt.Sprint(i), map[string]any{"text": texts[i]}); err != nil {
				return nil, err
			}
		}
		if err := idx.Batch(b); err != nil {
			return nil, err
		}
	}
	return func(r *rand.Rand) error {
		text := words[r.IntN(len(words))] + " " + words[r.IntN(len(words))]
		_, err := idx.Search(bleve.NewSearchRequestOptions(bleve.NewMatchQuery(text), 10, 0, false))
		return err
	}, nil
}
