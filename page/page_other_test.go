//go:build !linux

package page_test

import (
	"errors"
	"testing"

	"github.com/foliomem/folio/page"
)

func TestOutsideOfLinux(t *testing.T) {
	_, err := page.Map(1, nil)
	_, err2 := page.RangeOf(make([]byte, 1)).Residency()
	for _, err := range []error{err, err2, page.Allowed(page.THP)} {
		if !errors.Is(err, page.ErrNotSupported) {
			t.Error(err)
		}
	}
}
