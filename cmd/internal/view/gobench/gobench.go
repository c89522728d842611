// Package gobench turns results into the Go benchmark format, which benchstat reads:
// https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md.
package gobench

import (
	"bytes"
	"fmt"

	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/internal/base/console"
)

// Text returns the text of results, which may go to a terminal.
func Text(results []*benchfmt.Result) ([]byte, error) {
	var b bytes.Buffer
	w := benchfmt.NewWriter(&b)
	for _, r := range results {
		if err := w.Write(r); err != nil {
			return nil, fmt.Errorf("write the Go benchmark format: %w", err)
		}
	}
	return []byte(console.Escape(b.String())), nil
}
