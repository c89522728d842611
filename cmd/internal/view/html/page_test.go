package html

import (
	"fmt"
	"sync"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/view/document"
)

var large struct {
	sync.Once
	page []byte
}

// largePage is a page of 10,000 samples.
func largePage(t testing.TB) []byte {
	large.Do(func() { large.page = pageOf(t, resulttest.Tune(2000, "./prog")) })
	return large.page
}

// pageOf renders a page of files.
func pageOf(t testing.TB, files ...any) []byte {
	t.Helper()
	var results []*result.Result
	for i, f := range files {
		results = append(results, resulttest.Read(t, fmt.Sprintf("file%d.json", i), f))
	}
	out, err := Render(document.New(results...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
